import type { PipelineDefinition, PreviewCatalog, Task } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { ErrorNote } from '../parts/page.tsx';
import { Meter } from '../parts/show.tsx';
import { useTell } from '../parts/toasts.tsx';
import { useProject } from '../state/project.ts';
import { goTo, linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

interface ImportShape {
  file: File;
  definition: PipelineDefinition;
  catalog: PreviewCatalog;
  /** The preview is that of the definition. */
  isSettled: boolean;
}

/** Makes a pipeline of the definition, sends the file in, and goes to the products when they are there. */
export function ImportButton({ file, definition, catalog, isSettled }: ImportShape) {
  const { begin, task, error, isBusy } = useImport(file, definition);
  const canImport = isSettled && catalog.products > 0;
  return (
    <div className="stack">
      <ErrorNote error={error} />
      {task && <Meter share={task.progress / 100} label={t('Imported')} />}
      <div className="row">
        <Button look="primary" busy={isBusy} disabled={!canImport} onClick={() => void begin()}>
          {catalog.isWhole
            ? t('Import {count, plural, one {# product} other {# products}}', { count: catalog.products })
            : t('Import the file')}
        </Button>
        <span className="soft small">{t('It is kept as a pipeline, so the next file is one click.')}</span>
      </div>
    </div>
  );
}

function useImport(file: File, definition: PipelineDefinition) {
  const relata = useRelata();
  const project = useProject();
  const queries = useQueryClient();
  const tell = useTell();
  const made = useRef<number>(undefined);
  const [task, setTask] = useState<Task>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  /** A second try changes the pipeline of the first. */
  async function store(): Promise<number> {
    if (made.current === undefined) made.current = (await relata.pipelines.create(project.id, definition)).id;
    else await relata.pipelines.put({ projectId: project.id, pipelineId: made.current }, definition);
    return made.current;
  }

  async function run() {
    const place = { projectId: project.id, pipelineId: await store() };
    const accepted = await relata.pipelines.upload(place, file, { name: file.name });
    let seen = accepted;
    for await (const next of relata.tasks.follow(accepted.id)) {
      seen = next;
      setTask(next);
    }
    if (seen.taskStatus !== 'FINISHED')
      throw new Error(seen.error?.message ?? t('The import did not finish.'));
    await queries.invalidateQueries();
    tell.good(
      t('The products are in'),
      t('“{name}” is a pipeline now: send the next file there.', { name: definition.name }),
    );
    goTo(linkTo('projects', project.id, 'products'));
  }

  async function begin() {
    setBusy(true);
    setError(undefined);
    await run().catch(setError);
    setTask(undefined);
    setBusy(false);
  }
  return { begin, task, error, isBusy };
}
