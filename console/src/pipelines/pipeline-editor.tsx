import type { Pipeline, PipelineDefinition, Tagged } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { DefinitionEditor, useStored } from '../parts/definition-editor.tsx';
import { Answer } from '../parts/page.tsx';
import { useSaving } from '../parts/saving.ts';
import { useProject } from '../state/project.ts';
import { useRoute } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { EMPTY_PIPELINE } from './pipeline-draft.ts';
import { BasicsCard, GuardsCard, TriggerCard } from './pipeline-form.tsx';
import { FormatCard } from './pipeline-format.tsx';
import { MappingCard } from './pipeline-mapping.tsx';
import { PreviewCard, usePipelinePreview } from './pipeline-preview.tsx';
import { SourceCard } from './pipeline-source.tsx';

/** A pipeline as it is made or changed. */
export function PipelineEditor() {
  const { parts } = useRoute();
  const project = useProject();
  const relata = useRelata();
  const id = parts[3] ?? '';
  const isNew = id === 'new';
  const stored = useStored('pipeline', isNew ? undefined : Number(id), (pipelineId, signal) =>
    relata.pipelines.get({ projectId: project.id, pipelineId }, { signal }),
  );
  if (isNew) return <NewPipeline />;
  return <Answer of={stored}>{(read) => <Editor key={id} stored={read} />}</Answer>;
}

function NewPipeline() {
  const project = useProject();
  const relata = useRelata();
  const present = useQuery({
    queryKey: ['first-product', project.id],
    queryFn: () => relata.products.list(project.id, { limit: 1 }),
    refetchOnWindowFocus: false,
    gcTime: 0,
  });
  return (
    <Answer of={present}>
      {({ items }) => <Editor key="new" stored={undefined} isFirst={items.length === 0} />}
    </Answer>
  );
}

interface EditorShape {
  readonly stored: Tagged<Pipeline> | undefined;
  /** The project has no products yet. */
  readonly isFirst?: boolean;
}

function Editor({ stored, isFirst = false }: EditorShape) {
  const [draft, setDraft] = useState<PipelineDefinition>(
    stored?.value ?? { ...EMPTY_PIPELINE, mode: isFirst ? 'full' : 'incremental' },
  );
  const change = (changed: Partial<PipelineDefinition>) => setDraft((before) => ({ ...before, ...changed }));
  const tried = usePipelinePreview(draft, { pipelineId: stored?.value.id, onChange: change });
  const saving = useSave(stored, draft);
  const shape = { draft, onChange: change };
  return (
    <DefinitionEditor what="pipeline" stored={stored?.value} draft={draft} saving={saving}>
      <BasicsCard {...shape} />
      <SourceCard {...shape} tried={tried} />
      <FormatCard {...shape} found={tried.preview.data?.found} />
      <MappingCard {...shape} preview={tried.preview.data} />
      <PreviewCard tried={tried} mode={draft.mode} onRejectedRow={draft.onRejectedRow} />
      <TriggerCard {...shape} />
      <GuardsCard {...shape} />
    </DefinitionEditor>
  );
}

function useSave(stored: Tagged<Pipeline> | undefined, draft: PipelineDefinition) {
  const relata = useRelata();
  const project = useProject();
  return useSaving<Pipeline>({
    what: 'pipeline',
    stored,
    create: () => relata.pipelines.create(project.id, draft),
    replace: (pipelineId, options) =>
      relata.pipelines.put({ projectId: project.id, pipelineId }, draft, options),
  });
}
