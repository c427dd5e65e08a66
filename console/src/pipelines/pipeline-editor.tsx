import type {
  HttpSource,
  Pipeline,
  PipelineDefinition,
  PipelineFormat,
  PipelineSource,
  PipelineTrigger,
  Tagged,
} from '@relata/client';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { EditorPage, Stored, useEditor } from '../parts/definitions.tsx';
import {
  Fields,
  FileField,
  NumberField,
  Rows,
  SelectField,
  SwitchField,
  TextField,
  useBinding,
} from '../parts/forms/field.tsx';
import { OptionFields, startSchedule, TriggerFields } from '../parts/forms/option-field.tsx';
import { TableField } from '../parts/forms/suggest-field.tsx';
import { Answer, Card, ErrorNote } from '../parts/page.tsx';
import { hintOf, startTyped, withOption } from '../rules/choices.ts';
import { useOfProject } from '../state/answers.ts';
import { useMistake } from '../state/mistakes.ts';
import {
  EMPTY_PIPELINE,
  guessFormat,
  listFormats,
  listModes,
  listSources,
  makesProducts,
  needOfMapping,
  PIPELINE,
} from './pipeline-draft.ts';
import { LinkedRelationField, MappingCard } from './pipeline-mapping.tsx';
import { PreviewCard, readFile, type Tried, usePipelinePreview } from './pipeline-preview.tsx';

/** The form for a new or an existing pipeline. */
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
  /** Whether the project has no products yet. */
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
        <FormatCard {...shape} detected={tried.preview.data?.found} />
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

export interface PipelineShape {
  draft: PipelineDefinition;
  onChange(changed: Partial<PipelineDefinition>): void;
}

export function BasicsCard({ draft, onChange }: PipelineShape) {
  const mistake = useMistake();
  const bind = useBinding(draft, onChange);
  const setMode = (mode: NonNullable<PipelineDefinition['mode']>) => {
    const isOther = mode !== draft.mode && !(makesProducts(mode) && makesProducts(draft.mode));
    // Products, links and tables have no fields in common.
    onChange({ mode, ...(isOther && { mapping: undefined, relationId: undefined, tableName: undefined }) });
  };
  return (
    <Card title={t('Pipeline')}>
      <div className="fields">
        <TextField label={t('Name')} maxLength={255} placeholder={t('Nightly catalog')} {...bind('name')} />
        <SelectField label={t('Mode')} choices={listModes()} value={draft.mode} onChange={setMode} />
        {draft.mode === 'links' && <LinkedRelationField draft={draft} onChange={onChange} />}
        {draft.mode === 'table' && (
          <TableField
            label={t('Table')}
            hint={t('A run replaces all pairs of the table. It creates the table if necessary.')}
            value={draft.tableName ?? ''}
            mistake={mistake('/tableName')}
            onChange={(name) => onChange({ tableName: name || undefined })}
          />
        )}
      </div>
    </Card>
  );
}

const listTriggers = () =>
  [
    ['manual', t('Manual')],
    ['schedule', t('Schedule')],
    ['webhook', t('Webhook')],
  ] as const;

const DEFAULT_SECONDS = 3_600;

function startTrigger(type: string): PipelineTrigger {
  if (type === 'schedule') return startSchedule();
  return type === 'webhook' ? { type, minSecondsBetween: DEFAULT_SECONDS } : { type: 'manual' };
}

export function TriggerCard({ draft, onChange }: PipelineShape) {
  const { trigger, source } = draft;
  // A run with any other trigger would find no file.
  const isUpload = source.type === 'upload';
  return (
    <Card title={t('Trigger')}>
      {isUpload && <p className="soft">{t('Each uploaded file also starts a run.')}</p>}
      <TriggerFields<PipelineTrigger, PipelineTrigger['type']>
        label={t('Runs start')}
        choices={listTriggers().filter(([type]) => !isUpload || type === 'manual' || type === trigger.type)}
        trigger={trigger}
        start={startTrigger}
        pause={[t('Seconds between two calls'), t('Earlier calls are refused with 429.')]}
        onChange={(next) => onChange({ trigger: next })}
      />
    </Card>
  );
}

const DEFAULT_SHARE = 0.05;

export function GuardsCard({ draft, onChange }: PipelineShape) {
  const { onRejectedRow = 'stop' } = draft;
  const mistake = useMistake();
  const bind = useBinding(draft, onChange);
  const isShare = typeof onRejectedRow === 'number';
  const setRejected = (value: string) =>
    onChange({ onRejectedRow: value === 'share' ? DEFAULT_SHARE : (value as 'stop' | 'continue') });
  return (
    <Card title={t('Limits')}>
      <div className="fields">
        <SelectField
          label={t('Rows that make no product')}
          choices={[
            ['stop', t('The first rejected row ends the run')],
            ['continue', t('Leave them out')],
            ['share', t('Leave them out, up to a given share')],
          ]}
          value={isShare ? 'share' : onRejectedRow}
          mistake={isShare ? undefined : mistake('/onRejectedRow')}
          onChange={setRejected}
        />
        {isShare && (
          <NumberField
            label={t('Maximum share of rejected rows, in %')}
            value={Math.round(onRejectedRow * 10_000) / 100}
            mistake={mistake('/onRejectedRow')}
            onChange={(percent) => onChange({ onRejectedRow: (percent ?? 0) / 100 })}
          />
        )}
        <NumberField
          label={t('Minimum products')}
          hint={t('A run with fewer products changes nothing.')}
          {...bind('minProducts')}
        />
        <NumberField
          label={t('Deletion limit, in %')}
          hint={t('A run that would delete a larger share of the catalog changes nothing.')}
          {...bind('maxDeletePercent')}
        />
      </div>
    </Card>
  );
}

type Found = Readonly<Record<string, string>> | undefined;

export function FormatCard({ draft, onChange, detected }: PipelineShape & { detected: Found }) {
  const { format, mapping } = draft;
  const setType = (type: PipelineFormat['type']) => {
    const keeps = needOfMapping({ format: { type } }) === 'needed' && needOfMapping({ format }) === 'needed';
    onChange({ format: { type }, mapping: keeps ? mapping : undefined });
  };
  return (
    <Card title={t('Format')}>
      <div className="fields">
        <SelectField
          label={t('Type')}
          hint={hintOf('PipelineFormat', format)}
          choices={listFormats()}
          value={format.type}
          onChange={setType}
        />
        <OptionFields
          kind="PipelineFormat"
          part={format}
          path="/format"
          onChange={(next) => onChange({ format: next })}
        />
      </div>
      {detected && Object.keys(detected).length > 0 && (
        <p className="soft small">
          {t('Detected in the file: {found}', {
            found: Object.entries(detected)
              .map(([name, value]) => `${name} ${value === '\t' ? t('tab') : value}`)
              .join(', '),
          })}
        </p>
      )}
    </Card>
  );
}

/** The format of a new pipeline until one is chosen. */
const START_FORMAT = EMPTY_PIPELINE.format.type;

export function SourceCard({ draft, onChange, tried }: PipelineShape & { tried: Tried }) {
  const { source } = draft;
  return (
    <Card title={t('Source')}>
      <div className="fields">
        <SelectField
          label={t('Source of the file')}
          hint={hintOf('PipelineSource', source)}
          choices={listSources()}
          value={source.type}
          onChange={(type) => onChange({ source: startTyped('PipelineSource', type) as PipelineSource })}
        />
        <OptionFields
          kind="PipelineSource"
          part={source}
          path="/source"
          onChange={(next) => onChange({ source: next })}
        />
        {/* These sources may hold several files, of which only the newest can be read. */}
        {(source.type === 'directory' || source.type === 'sftp' || source.type === 's3') && (
          <SwitchField
            label={t('Only the newest file')}
            value={source.take === 'newest'}
            onChange={(isOn) => onChange({ source: withOption(source, 'take', isOn ? 'newest' : undefined) })}
          />
        )}
      </div>
      {source.type === 'http' && <Headers {...{ source, onChange }} />}
      {source.type === 'upload' ? (
        <FileToTry {...{ draft, onChange, tried }} />
      ) : (
        <div className="row">
          <Button icon="search" busy={tried.preview.isFetching} onClick={() => tried.read(undefined)}>
            {t('Read the first rows')}
          </Button>
          {tried.isOld && (
            <span className="soft small">{t('The source has changed since it was read.')}</span>
          )}
        </div>
      )}
    </Card>
  );
}

type Row = readonly [name: string, value: string];

/** The headers of each fetch. The service returns a stored value as `***`. Sending `***` keeps the value. */
function Headers({ source, onChange }: Pick<PipelineShape, 'onChange'> & { source: HttpSource }) {
  const mistake = useMistake();
  const [rows, setRows] = useState<readonly Row[]>(() => Object.entries(source.headers ?? {}));
  const put = (next: readonly Row[]) => {
    setRows(next);
    const named = next.filter(([name]) => name !== '');
    const headers = named.length > 0 ? Object.fromEntries(named) : undefined;
    onChange({ source: withOption(source, 'headers', headers) });
  };
  const refused = mistake('/source/headers');
  return (
    <div className="stack">
      <Rows
        values={rows}
        removing={t('Remove this header')}
        kinds={{ [t('Header')]: ['', ''] }}
        onChange={put}
      >
        {({ value: [name, value], change, remove }) => (
          <div className="filter-row named-value">
            <TextField
              label={t('Header')}
              isQuiet
              placeholder={'X-Token'}
              value={name}
              onChange={(text) => change([text, value])}
            />
            <TextField
              label={t('Value of {name}', { name: name || t('the header') })}
              isQuiet
              value={value}
              onChange={(value) => change([name, value])}
            />
            {remove}
          </div>
        )}
      </Rows>
      {refused && <p className="mistake small">{refused}</p>}
      {rows.some(([, value]) => value === '***') && (
        <p className="soft small">{t('Stored values are never shown. Leave *** to keep a value.')}</p>
      )}
    </div>
  );
}

function FileToTry({ draft, onChange, tried }: PipelineShape & { tried: Tried }) {
  const [error, setError] = useState<unknown>();
  const choose = async (file: File | undefined) => {
    setError(undefined);
    if (file === undefined) return;
    const type = guessFormat(file.name);
    if (draft.mapping === undefined && type !== undefined && draft.format.type === START_FORMAT)
      onChange({ format: { type } });
    tried.read(await readFile(file));
  };
  return (
    <>
      <FileField
        label={t('Sample file')}
        hint={t('It is not imported. It is used to detect columns and suggest a mapping.')}
        onChange={(file) => void choose(file).catch(setError)}
      />
      <ErrorNote error={error} />
    </>
  );
}
