import type { HttpSource, PipelineSource } from '@relata/client';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { FileField, SelectField, SwitchField, TextField } from '../parts/forms/field.tsx';
import { OptionFields } from '../parts/forms/option-field.tsx';
import { Rows } from '../parts/forms/rows.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { hintOf, startTyped, withOption } from '../rules/choices.ts';
import { useMistake } from '../state/mistakes.ts';
import { EMPTY_PIPELINE, guessFormat, listSources } from './pipeline-draft.ts';
import type { PipelineShape } from './pipeline-form.tsx';
import type { Tried } from './pipeline-preview.tsx';
import { readFile } from './sent-file.ts';

/** What a new pipeline says before a choice is made. */
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
          place="/source"
          onChange={(next) => onChange({ source: next })}
        />
        {/* Of several files they may read the newest alone. */}
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
        <ReadSource tried={tried} />
      )}
    </Card>
  );
}

type Row = readonly [name: string, value: string];

/** Sent with each fetch. What is stored is answered as `***`, which keeps it. */
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
        label={t('File to try')}
        hint={t('It is not imported. It is used to detect columns and suggest a mapping.')}
        onChange={(file) => void choose(file).catch(setError)}
      />
      <ErrorNote error={error} />
    </>
  );
}

function ReadSource({ tried }: { tried: Tried }) {
  return (
    <div className="row">
      <Button icon="search" busy={tried.preview.isFetching} onClick={() => tried.read(undefined)}>
        {t('Read the first rows')}
      </Button>
      {tried.isOld && <span className="soft small">{t('The source has changed since it was read.')}</span>}
    </div>
  );
}
