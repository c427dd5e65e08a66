import type { Pipeline, Tagged } from '@relata/client';
import { EditorPage, Stored, useEditor } from '../parts/definitions.tsx';
import { Fields } from '../parts/forms/field.tsx';
import { Answer } from '../parts/page.tsx';
import { useOfProject } from '../state/project.ts';
import { EMPTY_PIPELINE, PIPELINE } from './pipeline-draft.ts';
import { BasicsCard, GuardsCard, TriggerCard } from './pipeline-form.tsx';
import { FormatCard } from './pipeline-format.tsx';
import { MappingCard } from './pipeline-mapping.tsx';
import { PreviewCard, usePipelinePreview } from './pipeline-preview.tsx';
import { SourceCard } from './pipeline-source.tsx';

/** A pipeline as it is made or changed. */
export const PipelineEditor = () => (
  <Stored kind={PIPELINE}>{(stored) => (stored ? <Editor stored={stored} /> : <NewPipeline />)}</Stored>
);

function NewPipeline() {
  const present = useOfProject(
    ['first-product'],
    ({ relata, projectId }) => relata.products.list(projectId, { limit: 1 }),
    { refetchOnWindowFocus: false, gcTime: 0 },
  );
  return (
    <Answer of={present}>{({ items }) => <Editor stored={undefined} isFirst={items.length === 0} />}</Answer>
  );
}

interface EditorShape {
  readonly stored: Tagged<Pipeline> | undefined;
  /** The project has no products yet. */
  readonly isFirst?: boolean;
}

function Editor({ stored, isFirst = false }: EditorShape) {
  const editor = useEditor(PIPELINE, stored, { ...EMPTY_PIPELINE, mode: isFirst ? 'full' : 'incremental' });
  const { draft, change } = editor.edited;
  const tried = usePipelinePreview(draft, { pipelineId: stored?.value.id, onChange: change });
  const shape = { draft, onChange: change };
  return (
    <EditorPage what="pipeline" hasView stored={stored} editor={editor} canSave={draft.name !== ''}>
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
    </EditorPage>
  );
}
