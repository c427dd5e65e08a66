import type {
  Attribute,
  ChannelDefinition,
  ChannelPreview,
  ChannelSource,
  ChannelToTry,
  FeedField,
} from '@relata/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { NameField, SelectField, TextField } from '../parts/forms/field.tsx';
import { SuggestField } from '../parts/forms/suggest-field.tsx';
import { Card, ErrorNote, Loading, Renewed } from '../parts/page.tsx';
import { Code, Pairs, ProductLink, ProductLinks, useMore } from '../parts/show.tsx';
import { formatCount } from '../rules/format.ts';
import { useOfProject, WHILE_TYPING } from '../state/answers.ts';
import { useAttributes } from '../state/catalog.ts';
import { useMistake } from '../state/mistakes.ts';
import { useSettled } from '../state/timing.ts';
import {
  type ChannelMapping,
  type ChannelShape,
  type FieldTrouble,
  findFormat,
  kindOf,
  listFields,
  listProblems,
  listProductFields,
  listSourceKinds,
  nameRelated,
  startSource,
  textOfSource,
  toTried,
  withFieldName,
  withSource,
} from './channel-draft.ts';

/** The number of fields shown at first, because a catalog may have thousands of attributes. */
const FIRST_FIELDS = 60;

/** The sources of the format's fields. Source: docs/interface §16.2. */
export function MappingCard({ draft, onChange, tried }: ChannelShape & { tried: Tried }) {
  const { mapping, format } = draft;
  const shown = mapping ?? tried.suggested;
  return (
    <Card
      title={t('Fields')}
      actions={
        mapping && (
          <Button onClick={() => onChange({ mapping: undefined })}>{t('Use the suggested mapping')}</Button>
        )
      }
    >
      {mapping === undefined && (
        <p className="soft">
          {t(
            'Suggested from the attributes. Each build uses the attributes that exist at that time. Once you change a field, the mapping stays as it is shown here.',
          )}
        </p>
      )}
      {shown ? (
        <Fields
          key={format.type}
          mapping={shown}
          fields={findFormat(format)?.fields}
          preview={tried.preview.data}
          onChange={(next) => onChange({ mapping: next })}
        />
      ) : (
        !tried.preview.error && <Loading />
      )}
    </Card>
  );
}

interface FieldsShape {
  mapping: ChannelMapping;
  /** Undefined if the format accepts any field. */
  fields: readonly FeedField[] | undefined;
  preview: ChannelPreview | undefined;
  onChange(mapping: ChannelMapping): void;
}

function Fields({ mapping, fields, preview, onChange }: FieldsShape) {
  const attributes = useAttributes();
  const names = listFields(mapping, fields);
  const [shown, more] = useMore(names, FIRST_FIELDS, (count) =>
    t('Show all {count, plural, one {# field} other {# fields}}', { count }),
  );
  const problems = preview ? listProblems(preview) : [];
  const put = (name: string, source: ChannelSource | undefined) =>
    onChange(withSource(mapping, { name, source }, fields));
  return (
    <>
      <div className="stack">
        {shown.map((name) => (
          <FieldRow
            key={name}
            field={fields?.find((field) => field.name === name) ?? { name }}
            source={mapping[name]}
            attributes={attributes}
            hint={problems.find(({ field }) => field === name)?.words}
            onRename={fields ? undefined : (next) => onChange(withFieldName(mapping, name, next))}
            onChange={(source) => put(name, source)}
          />
        ))}
      </div>
      {more}
      {fields ? (
        <SelectField
          label={t('Another field')}
          choices={[
            ['', '—'],
            ...fields.flatMap(({ name }) => (names.includes(name) ? [] : [[name, name] as const])),
          ]}
          value=""
          onChange={(value) => put(value, startSource('attribute', { name: '' }))}
        />
      ) : (
        <NewField onAdd={(name) => !Object.hasOwn(mapping, name) && put(name, { attribute: '' })} />
      )}
    </>
  );
}

function NewField({ onAdd }: { onAdd(name: string): void }) {
  const [name, setName] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const add = () => {
    onAdd(name);
    setName('');
    field.current?.focus();
  };
  return (
    <div className="filter-row two">
      <TextField
        ref={field}
        label={t('Name of another field')}
        isQuiet
        placeholder={t('Name of another field')}
        maxLength={255}
        value={name}
        onChange={setName}
      />
      <Button disabled={name === ''} onClick={add}>
        {t('Add the field')}
      </Button>
    </div>
  );
}

interface RowShape {
  field: FeedField;
  source: ChannelSource | undefined;
  attributes: readonly Attribute[];
  /** The problem that products have with this field. */
  hint: string | undefined;
  /** Undefined if the format defines the name. */
  onRename: ((name: string) => void) | undefined;
  onChange(source: ChannelSource | undefined): void;
}

function FieldRow({ field, source, attributes, hint, onRename, onChange }: RowShape) {
  const mistake = useMistake()(`/mapping/${field.name}`);
  return (
    <div className="filter-row mapped">
      {onRename ? (
        <NameField
          label={t('Name of the field {name}', { name: field.name })}
          value={field.name}
          onChange={onRename}
        />
      ) : (
        <span className="field-name break">
          <span className="mono">{field.name}</span>
          {field.isRequired && <span className="soft small"> {t('required')}</span>}
        </span>
      )}
      <SelectField
        label={t('Source of {name}', { name: field.name })}
        isQuiet
        choices={listSourceKinds()}
        value={kindOf(source)}
        onChange={(value) => onChange(startSource(value, field))}
      />
      <SourceField {...{ field, source, attributes, mistake, hint, onChange }} />
      <IconButton
        icon="cross"
        label={t('Remove {name}', { name: field.name })}
        disabled={source === undefined}
        onClick={() => onChange(undefined)}
      />
    </div>
  );
}

type SourceShape = Omit<RowShape, 'onRename'> & { mistake: string | undefined };

const listPlaceholders = (): Readonly<Record<string, string>> => ({
  constant: t('The same for every product'),
  template: '{Price} EUR',
  expression: '$uppercase(name)',
});

function SourceField({ field, source, attributes, onChange, ...hints }: SourceShape) {
  const kind = kindOf(source);
  const shared = {
    label: t('Value of {name}', { name: field.name }),
    isQuiet: true,
    value: textOfSource(source),
    ...hints,
  };
  const put = (value: string) => onChange({ [kind]: value });
  const { mistake, hint } = hints;
  if (kind === '')
    return (
      <span className="field-name small">
        {mistake && <span className="mistake">{mistake} </span>}
        {hint && <span className="soft">{hint}</span>}
      </span>
    );
  if (kind === 'attribute')
    return (
      <SuggestField
        {...shared}
        placeholder={t('Attribute')}
        choices={attributes.map(({ name }) => name)}
        onChange={put}
      />
    );
  const choices = kind === 'field' ? listProductFields() : listWords(kind, field);
  if (choices !== undefined) return <SelectField {...shared} choices={choices} onChange={put} />;
  return (
    <TextField
      {...shared}
      className={kind === 'constant' ? 'input' : 'input mono'}
      placeholder={listPlaceholders()[kind]}
      onChange={put}
    />
  );
}

/** @returns the values that a field accepts, if a constant has to be one of them */
const listWords = (kind: string, { choices }: FeedField) =>
  kind === 'constant' ? choices?.map((word) => [word, word] as const) : undefined;

const FIRST_ROWS = 3;

interface Tried {
  readonly preview: UseQueryResult<ChannelPreview>;
  /** Whether the preview belongs to the current draft. */
  readonly isSettled: boolean;
  /** The suggested mapping for the draft's format. */
  readonly suggested: ChannelMapping | undefined;
}

/** Previews the first rows at every change of the output. */
export function useChannelPreview(draft: ChannelDefinition): Tried {
  const present = JSON.stringify(toTried(draft));
  const settled = useSettled(present);
  const [suggestion, setSuggestion] = useState<{ type: string | undefined; mapping: ChannelMapping }>();
  const preview = useOfProject(
    ['channel-preview', settled],
    async ({ relata, projectId, signal }) => {
      const tried = JSON.parse(settled) as ChannelToTry;
      const answer = await relata.channels.preview(projectId, tried, { signal });
      // Keeps the last suggestion while the service refuses the mapping that the user is writing.
      if (tried.mapping === undefined) setSuggestion({ type: tried.format?.type, mapping: answer.mapping });
      return answer;
    },
    WHILE_TYPING,
  );
  const isSettled = settled === present && !preview.isFetching;
  return {
    preview,
    isSettled,
    suggested: suggestion?.type === draft.format.type ? suggestion.mapping : undefined,
  };
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
              {data.fileName.endsWith('.gz') && <p className="soft small">{t('Shown unpacked.')}</p>}
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
    return t('The filter selects none of the first {count, plural, one {# product} other {# products}}.', {
      count: products,
    });
  const good = taken - leftOut;
  return t(
    'Of {count, plural, one {# product} other {# products}}, {good} would be published and {leftOut} would be left out.',
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
  const [shown, more] = useMore(rows, FIRST_ROWS, (count) =>
    t('Show all {count, plural, one {# row} other {# rows}}', { count }),
  );
  return (
    <>
      <ol className="stack wide">
        {shown.map((row) => (
          <RowItem key={row.identifier} row={row} />
        ))}
      </ol>
      {more}
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
          <span className={`badge ${problems.length > 0 ? 'warn' : 'good'}`}>{t('published')}</span>
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
