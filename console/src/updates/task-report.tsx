import type { ReportLine, Task } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { presentLanguage, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Answer, Card } from '../parts/page.tsx';
import { saveTable } from '../parts/save-file.ts';
import { TableBox } from '../parts/table-box.tsx';
import { useTell } from '../parts/toasts.tsx';
import { separatorOf, toCsvLine } from '../rules/csv.ts';
import { formatCount } from '../rules/format.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

/** As many as somebody reads; the download has them all. */
const SHOWN_LINES = 500;
const COLUMNS = ['identifier', 'code', 'attribute', 'value', 'message'] as const;
/** Of the run of a pipeline. */
const PLACES = ['row', 'column'] as const;

const hasPlace = ({ row, column }: ReportLine) => row !== undefined || column !== undefined;

/** What of a product a line is about: the build of a channel reports fields of its format. */
const aboutOf = ({ attribute, field }: ReportLine) => attribute ?? field;

/** What the task has to say about single products and values. */
export function TaskReport({ task }: { task: Task }) {
  const relata = useRelata();
  const report = useQuery({
    queryKey: ['task-report', task.id, task.taskStatus],
    queryFn: async ({ signal }) => {
      const lines: ReportLine[] = [];
      for await (const line of relata.tasks.report(task.id, { signal })) {
        if (lines.length === SHOWN_LINES) return { lines, hasMore: true };
        lines.push(line);
      }
      return { lines, hasMore: false };
    },
  });
  const hasLines = (report.data?.lines.length ?? 0) > 0;
  return (
    <Card title={t('Report')} actions={hasLines && <Download taskId={task.id} />} isBare={hasLines}>
      <Answer of={report}>
        {({ lines, hasMore }) =>
          lines.length === 0 ? (
            <p className="soft">{t('No report lines about single products.')}</p>
          ) : (
            <>
              <ReportTable lines={lines} projectId={task.projectId} />
              {hasMore && (
                <p className="grid-foot">
                  {t('The first {count} lines; the download has all of them.', {
                    count: formatCount(SHOWN_LINES),
                  })}
                </p>
              )}
            </>
          )
        }
      </Answer>
    </Card>
  );
}

function ReportTable({ lines, projectId }: { lines: readonly ReportLine[]; projectId: number }) {
  const hasPlaces = lines.some(hasPlace);
  return (
    <TableBox label={t('Lines of the report')}>
      <table className="table small">
        <thead>
          <tr>
            <th>{t('Product')}</th>
            {hasPlaces && <th className="number">{t('Row')}</th>}
            {hasPlaces && <th>{t('Column')}</th>}
            <th>{t('Code')}</th>
            <th>{t('Attribute or field')}</th>
            <th>{t('Value')}</th>
            <th>{t('Message')}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, number) => (
            <tr key={number}>
              <td className="mono">
                {line.identifier && (
                  <a href={linkTo('projects', projectId, 'products', line.identifier)}>{line.identifier}</a>
                )}
              </td>
              {hasPlaces && <td className="number">{line.row}</td>}
              {hasPlaces && <td className="mono">{line.column}</td>}
              <td className="nowrap">
                {line.code ? (
                  <span className="tag">{line.code}</span>
                ) : (
                  t('{more} more', { more: formatCount(line.more ?? 0) })
                )}
              </td>
              <td>{aboutOf(line)}</td>
              <td className="mono">{line.value}</td>
              <td>{line.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function toCsv(lines: readonly ReportLine[], separator: string): string[] {
  const names = [...COLUMNS, ...(lines.some(hasPlace) ? PLACES : [])];
  const toCells = (line: ReportLine) =>
    line.more === undefined
      ? names.map((name) => (name === 'attribute' ? aboutOf(line) : line[name]))
      : ['', 'more', '', '', line.more];
  return [names, ...lines.map(toCells)].map((cells) => toCsvLine(cells, separator));
}

function Download({ taskId }: { taskId: string }) {
  const relata = useRelata();
  const tell = useTell();
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    const lines: ReportLine[] = [];
    for await (const line of relata.tasks.report(taskId)) lines.push(line);
    saveTable(`report-${taskId}.csv`, toCsv(lines, separatorOf(presentLanguage())));
  };
  return (
    <Button
      icon="download"
      busy={isBusy}
      onClick={() => {
        setBusy(true);
        void save()
          .catch(tell.bad)
          .finally(() => setBusy(false));
      }}
    >
      {t('Download as CSV')}
    </Button>
  );
}
