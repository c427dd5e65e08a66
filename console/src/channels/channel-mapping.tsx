import type { Attribute, ChannelPreview, ChannelSource, FeedField } from '@relata/client';
import { useRef, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { NameField, SelectField, TextField } from '../parts/forms/field.tsx';
import { Card, Loading } from '../parts/page.tsx';
import { useAttributes } from '../state/attributes.ts';
import { useMistake } from '../state/mistakes.ts';
import {
  type ChannelMapping,
  type ChannelShape,
  findFormat,
  kindOf,
  listFields,
  listProblems,
  listSourceKinds,
  type SourceKind,
  startSource,
  withFieldName,
  withSource,
} from './channel-draft.ts';
import type { Tried } from './channel-preview.tsx';
import { SourceField } from './channel-source.tsx';

/** So many are drawn at first: a catalog may have thousands of attributes. */
const FIRST_FIELDS = 60;

/** Where the fields of the format come from. Source: docs/interface.md §16.2. */
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
            'Suggested from the ontology: each build takes the attributes that there are then. When you change a field, the mapping stays as it is here.',
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
  /** Undefined where the format takes any. */
  fields: readonly FeedField[] | undefined;
  preview: ChannelPreview | undefined;
  onChange(mapping: ChannelMapping): void;
}

function Fields({ mapping, fields, preview, onChange }: FieldsShape) {
  const attributes = useAttributes();
  const [isAll, setAll] = useState(false);
  const names = listFields(mapping, fields);
  const problems = preview ? listProblems(preview) : [];
  const put = (name: string, source: ChannelSource | undefined) =>
    onChange(withSource(mapping, { name, source }, fields));
  return (
    <>
      <div className="stack">
        {names.slice(0, isAll ? undefined : FIRST_FIELDS).map((name) => (
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
      {!isAll && names.length > FIRST_FIELDS && (
        <div className="row">
          <Button onClick={() => setAll(true)}>
            {t('Show all {count, plural, one {# field} other {# fields}}', { count: names.length })}
          </Button>
        </div>
      )}
      {fields ? (
        <SelectField
          label={t('Another field')}
          choices={[['', '—'], ...listOthers(fields, names)]}
          value=""
          onChange={({ target }) => put(target.value, startSource('attribute', { name: '' }))}
        />
      ) : (
        <NewField onAdd={(name) => !Object.hasOwn(mapping, name) && put(name, { attribute: '' })} />
      )}
    </>
  );
}

const listOthers = (fields: readonly FeedField[], names: readonly string[]) =>
  fields.filter(({ name }) => !names.includes(name)).map(({ name }) => [name, name] as const);

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
        onChange={({ target }) => setName(target.value)}
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
  /** What products lack. */
  hint: string | undefined;
  /** Undefined where the format gives the name. */
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
        onChange={({ target }) => onChange(startSource(target.value as SourceKind | '', field))}
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
