import type { Attribute, ChannelSource, FeedField } from '@relata/client';
import { t } from '../languages/text.ts';
import { SelectField, TextField } from '../parts/forms/field.tsx';
import { SuggestField } from '../parts/forms/suggest-field.tsx';
import { kindOf, listProductFields, textOfSource } from './channel-draft.ts';

interface SourceShape {
  field: FeedField;
  source: ChannelSource | undefined;
  attributes: readonly Attribute[];
  mistake: string | undefined;
  hint: string | undefined;
  onChange(source: ChannelSource): void;
}

const listPlaceholders = (): Readonly<Record<string, string>> => ({
  constant: t('The same for every product'),
  template: '{Price} EUR',
  expression: '$uppercase(name)',
});

/** What a field takes of its source: an attribute, a field of the product, or a text. */
export function SourceField({ field, source, attributes, onChange, ...told }: SourceShape) {
  const kind = kindOf(source);
  const shared = {
    label: t('Value of {name}', { name: field.name }),
    isQuiet: true,
    value: textOfSource(source),
    ...told,
  };
  const put = (value: string) => onChange({ [kind]: value });
  if (kind === '') return <NoSource {...told} />;
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
  if (choices !== undefined)
    return <SelectField {...shared} choices={choices} onChange={({ target }) => put(target.value)} />;
  return (
    <TextField
      {...shared}
      className={kind === 'constant' ? 'input' : 'input mono'}
      placeholder={listPlaceholders()[kind]}
      onChange={({ target }) => put(target.value)}
    />
  );
}

/** @returns the words that a field takes, where the text of all products is one of them */
const listWords = (kind: string, { choices }: FeedField) =>
  kind === 'constant' ? choices?.map((word) => [word, word] as const) : undefined;

function NoSource({ mistake, hint }: Pick<SourceShape, 'mistake' | 'hint'>) {
  return (
    <span className="field-name small">
      {mistake && <span className="mistake">{mistake} </span>}
      {hint && <span className="soft">{hint}</span>}
    </span>
  );
}
