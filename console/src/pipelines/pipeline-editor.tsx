import type { Pipeline, PipelineDefinition, Tagged } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { DefinitionEditor, useStored } from '../parts/forms/definition-editor.tsx';
import { type Draft, useDraft, useSaving } from '../parts/forms/draft.tsx';
import { Fields } from '../parts/forms/field.tsx';
import { Answer } from '../parts/page.tsx';
import { useProject } from '../state/project.ts';
import { useRoute } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { EMPTY_PIPELINE, nameParts } from './pipeline-draft.ts';
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
  const empty: PipelineDefinition = { ...EMPTY_PIPELINE, mode: isFirst ? 'full' : 'incremental' };
  const edited = useDraft<PipelineDefinition>(stored, empty, nameParts());
  const { draft, change } = edited;
  const tried = usePipelinePreview(draft, { pipelineId: stored?.value.id, onChange: change });
  const saving = useSave(stored?.value.id, edited);
  const shape = { draft, onChange: change };
  return (
    <DefinitionEditor what="pipeline" stored={stored?.value} edited={edited} saving={saving}>
      <Fields>
        <BasicsCard {...shape} />
        <SourceCard {...shape} tried={tried} />
        <FormatCard {...shape} found={tried.preview.data?.found} />
        <MappingCard {...shape} preview={tried.preview.data} />
      </Fields>
      <PreviewCard tried={tried} mode={draft.mode} onRejectedRow={draft.onRejectedRow} />
      <Fields>
        <TriggerCard {...shape} />
        <GuardsCard {...shape} />
      </Fields>
    </DefinitionEditor>
  );
}

function useSave(id: number | undefined, of: Draft<PipelineDefinition>) {
  const relata = useRelata();
  const project = useProject();
  return useSaving<Pipeline, PipelineDefinition>({
    ...{ what: 'pipeline', id, of },
    create: () => relata.pipelines.create(project.id, of.draft),
    replace: (pipelineId, options) =>
      relata.pipelines.put({ projectId: project.id, pipelineId }, of.draft, options),
  });
}
