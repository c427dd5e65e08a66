import type { ChannelDefinition, ChannelPreview, ChannelToTry } from '@relata/client';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Card, ErrorNote, Loading, Renewed } from '../parts/page.tsx';
import { ProductLink, ProductLinks } from '../parts/product-link.tsx';
import { Code, Pairs } from '../parts/show.tsx';
import { formatCount } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';
import { useSettled } from '../state/settled.ts';
import {
  type ChannelMapping,
  type FieldTrouble,
  listProblems,
  nameRelated,
  toTried,
} from './channel-draft.ts';

/** So many are shown at first. */
const FIRST_ROWS = 3;

export interface Tried {
  readonly preview: UseQueryResult<ChannelPreview>;
  /** For the format of the draft. */
  readonly suggested: ChannelMapping | undefined;
}

/** The first rows, at every change of what goes out. */
export function useChannelPreview(draft: ChannelDefinition): Tried {
  const relata = useRelata();
  const project = useProject();
  const wanted = useSettled(JSON.stringify(toTried(draft)));
  const [found, setFound] = useState<{ type: string | undefined; mapping: ChannelMapping }>();
  const preview = useQuery({
    queryKey: ['channel-preview', project.id, wanted],
    queryFn: async ({ signal }) => {
      const tried = JSON.parse(wanted) as ChannelToTry;
      const answer = await relata.channels.preview(project.id, tried, { signal });
      // It stays known while somebody writes a mapping that is refused.
      if (tried.mapping === undefined) setFound({ type: tried.format?.type, mapping: answer.mapping });
      return answer;
    },
    placeholderData: (before) => before,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
    gcTime: 0,
    retry: false,
  });
  return { preview, suggested: found?.type === draft.format.type ? found.mapping : undefined };
}

export function PreviewCard({ preview }: Pick<Tried, 'preview'>) {
  const { data, error, isFetching, isPlaceholderData } = preview;
  return (
    <Card title={t('Preview of the first rows')}>
      <ErrorNote error={error} />
      {isFetching && data === undefined && <Loading />}
      {data && !error && (
        <Renewed isOld={isPlaceholderData}>
          <p role="status">{describeLook(data)}</p>
          <Problems problems={listProblems(data)} />
          <Rows rows={data.rows} />
          {data.text !== '' && (
            <details>
              <summary>{t('How {fileName} begins', { fileName: data.fileName })}</summary>
              {data.fileName.endsWith('.gz') && <p className="soft small">{t('As it is unpacked.')}</p>}
              <Code label={t('The beginning of the file')} text={data.text} />
            </details>
          )}
        </Renewed>
      )}
    </Card>
  );
}

function describeLook({ looked: { products, taken, leftOut } }: ChannelPreview): string {
  if (taken === 0)
    return t('The filter takes none of the first {count, plural, one {# product} other {# products}}.', {
      count: products,
    });
  const good = taken - leftOut;
  return t(
    'Of {count, plural, one {# product} other {# products}}, {good} would go out and {leftOut} would be left out.',
    { count: taken, good: formatCount(good), leftOut: formatCount(leftOut) },
  );
}

function Problems({ problems }: { problems: readonly FieldTrouble[] }) {
  if (problems.length === 0) return null;
  return (
    <ul className="stack" aria-label={t('What is missing')}>
      {problems.map(({ field, words, identifiers, hasMore }) => (
        <li key={`${field} ${words}`} className="note warn small">
          <span className="break">
            <strong>{field}</strong>: {words}
          </span>
          <span className="break">
            <ProductLinks identifiers={identifiers} hasMore={hasMore} />
          </span>
        </li>
      ))}
    </ul>
  );
}

type PreviewRow = ChannelPreview['rows'][number];

function Rows({ rows }: Pick<ChannelPreview, 'rows'>) {
  const [isAll, setAll] = useState(false);
  const shown = rows.slice(0, isAll ? undefined : FIRST_ROWS);
  return (
    <>
      <ol className="stack wide">
        {shown.map((row) => (
          <RowItem key={row.identifier} row={row} />
        ))}
      </ol>
      {shown.length < rows.length && (
        <div className="row">
          <Button onClick={() => setAll(true)}>
            {t('Show all {count, plural, one {# row} other {# rows}}', { count: rows.length })}
          </Button>
        </div>
      )}
    </>
  );
}

function RowItem({ row: { identifier, values, related, problems, isLeftOut } }: { row: PreviewRow }) {
  const pairs = [
    ...Object.entries(values).map(([name, list]) => [name, list.join(', ')] as const),
    ...related
      .filter(({ identifiers }) => identifiers.length > 0)
      .map(({ as, identifiers }) => [nameRelated(as), identifiers.join(', ')] as const),
  ];
  return (
    <li className="tried-row">
      <div className="row">
        <ProductLink identifier={identifier} />
        {isLeftOut ? (
          <span className="badge bad">{t('left out')}</span>
        ) : (
          <span className={`badge ${problems.length > 0 ? 'warn' : 'good'}`}>{t('goes out')}</span>
        )}
      </div>
      {problems.map(({ field, message }) => (
        <p key={`${field} ${message}`} className="small soft break">
          {message}
        </p>
      ))}
      <div className="small">
        <Pairs pairs={pairs} />
      </div>
    </li>
  );
}
