import type { PipelineDefinition } from '@relata/client';
import { useEffect, useState } from 'react';
import { t } from '../languages/text.ts';
import { FileDrop } from '../parts/file-drop.tsx';
import { Card, ErrorNote, Loading, Page, Renewed } from '../parts/page.tsx';
import { droppedFile } from '../state/handover.ts';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { ImportButton } from './import-button.tsx';
import { ImportCatalog } from './import-catalog.tsx';
import { EMPTY_PIPELINE, guessFormat } from './pipeline-draft.ts';
import { MappingCard } from './pipeline-mapping.tsx';
import { usePipelinePreview, Warnings } from './pipeline-preview.tsx';
import { readFile } from './sent-file.ts';

/** A file becomes the catalog: looked at first, and imported with one button. */
export function Import() {
  const project = useProject();
  const [handed] = useState(droppedFile.take);
  const [file, setFile] = useState(handed);
  return (
    <Page
      title={file === undefined ? t('Import a file') : file.name}
      crumbs={[[project.name, linkTo('projects', project.id)]]}
      about={t('Nothing is stored before you import it.')}
    >
      <Card>
        <FileDrop
          label={file === undefined ? t('Drop a file here, or choose one') : t('Drop another file')}
          onFile={setFile}
        >
          <span className="soft small">{t('CSV, Excel, JSON, XML, BMEcat, or an export of a shop')}</span>
        </FileDrop>
      </Card>
      {file && <Looked key={`${file.name} ${file.size} ${file.lastModified}`} file={file} />}
    </Page>
  );
}

/** @returns the definition of the pipeline that reads such a file; rows that make no product are shown before */
function startDefinition({ name }: File): PipelineDefinition {
  return {
    ...EMPTY_PIPELINE,
    name: name.replace(/\.[^.]*$/, '') || name,
    format: { type: guessFormat(name) ?? EMPTY_PIPELINE.format.type } as PipelineDefinition['format'],
    mode: 'full',
    onRejectedRow: 'continue',
  };
}

function Looked({ file }: { file: File }) {
  const [definition, setDefinition] = useState(() => startDefinition(file));
  const [error, setError] = useState<unknown>();
  const change = (changed: Partial<PipelineDefinition>) =>
    setDefinition((before) => ({ ...before, ...changed }));
  const tried = usePipelinePreview(definition, { pipelineId: undefined, hasCatalog: true, onChange: change });
  const { read } = tried;
  useEffect(() => {
    void readFile(file).then(read, setError);
  }, [file]);
  const { data, error: refused } = tried.preview;
  const isOther = useOtherFormat(definition, data?.suggestion.format?.type, change);
  // What was read in another format is no catalog that one should see.
  const isReadAnew = isOther || data?.suggestion.format?.type === definition.format.type;
  if (data === undefined || isReadAnew)
    return error || refused ? <ErrorNote error={error ?? refused} /> : <Loading />;
  return (
    <>
      <ErrorNote error={refused} />
      <Warnings warnings={data.warnings} />
      {data.catalog && (
        <Renewed isOld={tried.preview.isPlaceholderData}>
          <ImportCatalog catalog={data.catalog} rows={data.rows}>
            <ImportButton
              file={file}
              definition={definition}
              catalog={data.catalog}
              isSettled={!tried.preview.isFetching && !refused}
            />
          </ImportCatalog>
        </Renewed>
      )}
      <details open={data.catalog === undefined}>
        <summary>{t('Which column is what')}</summary>
        <MappingCard draft={definition} onChange={change} preview={data} />
      </details>
    </>
  );
}

/** A file that says by its content that it is of another format is read as that, once. @returns whether it is about to be */
function useOtherFormat(
  { format }: PipelineDefinition,
  suggested: string | undefined,
  onChange: (changed: Partial<PipelineDefinition>) => void,
) {
  const [first] = useState(format.type);
  const isOther = suggested !== undefined && suggested !== format.type && format.type === first;
  useEffect(() => {
    if (isOther)
      onChange({ format: { type: suggested } as PipelineDefinition['format'], mapping: undefined });
  });
  return isOther;
}
