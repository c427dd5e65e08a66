import { Autocomplete } from '@base-ui/react/autocomplete';
import type { TableProduct } from '@relata/client';
import { useId, useState } from 'react';
import { t } from '../../languages/text.ts';
import { useFoundProducts } from '../../state/catalog.ts';
import { useProject } from '../../state/project.ts';
import { Button, IconButton } from '../button.tsx';
import { Thumb } from '../show.tsx';
import { FieldFrame } from './field.tsx';
import { Suggestions } from './suggest-field.tsx';

const SHOWN = 8;

/** One product of the project, found by any of its words; its identifier is the value, and may be typed too. */
export function ProductField({
  label,
  value,
  onChange,
  onPick,
}: {
  label: string;
  value: string;
  onChange(identifier: string): void;
  /** Takes one that is chosen, in place of `onChange`; Enter then chooses the first. */
  onPick?(identifier: string): void;
}) {
  const id = useId();
  const project = useProject();
  const [isFocused, setFocused] = useState(false);
  const {
    data: found = NONE,
    isPending,
    error,
  } = useFoundProducts(project.id, {
    words: value,
    limit: SHOWN,
    isEnabled: isFocused,
  });
  return (
    <FieldFrame id={id} label={label}>
      <Autocomplete.Root
        items={found}
        filter={null}
        itemToStringValue={({ identifier }: TableProduct) => identifier}
        value={value}
        onValueChange={(next, { reason }) =>
          reason === 'item-press' && onPick ? onPick(next) : onChange(next)
        }
        autoHighlight={onPick !== undefined}
        openOnInputClick
      >
        <Autocomplete.Input
          id={id}
          className="input"
          placeholder={t('Name, identifier or a value')}
          onFocus={() => setFocused(true)}
        />
        <Suggestions empty={describeEmpty(isPending, error)}>
          {(product: TableProduct) => (
            <Autocomplete.Item key={product.identifier} value={product} className="menu-item found">
              <Thumb url={product.thumbnail} />
              <span>
                <span className="cut block">{product.name}</span>
                <span className="mono soft small">{product.identifier}</span>
              </span>
            </Autocomplete.Item>
          )}
        </Suggestions>
      </Autocomplete.Root>
    </FieldFrame>
  );
}

/** Several of them, each found or typed; also a list by commas. */
export function ProductsField({
  identifiers,
  onChange,
}: {
  identifiers: readonly string[];
  onChange(identifiers: string[]): void;
}) {
  const [text, setText] = useState('');
  const add = (added: readonly string[]) => {
    setText('');
    onChange([...new Set([...identifiers, ...added])]);
  };
  const typed = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return (
    <div className="stack">
      {identifiers.length > 0 && (
        <ul className="picked">
          {identifiers.map((identifier) => (
            <li key={identifier}>
              <span className="mono">{identifier}</span>
              <IconButton
                icon="cross"
                label={t('Remove {identifier}', { identifier })}
                onClick={() => onChange(identifiers.filter((one) => one !== identifier))}
              />
            </li>
          ))}
        </ul>
      )}
      <ProductField label={t('Add a product')} value={text} onChange={setText} onPick={(one) => add([one])} />
      {typed.length > 0 && (
        <Button onClick={() => add(typed)}>
          {t('Add {identifiers}', { identifiers: typed.join(', ') })}
        </Button>
      )}
    </div>
  );
}

const NONE: TableProduct[] = [];

function describeEmpty(isPending: boolean, error: unknown): string {
  if (error) return t('The search is not ready. Type the identifier');
  return isPending ? t('Searching …') : t('No product has these words');
}
