import { Autocomplete } from '@base-ui/react/autocomplete';
import type { TableProduct } from '@relata/client';
import { useId, useState } from 'react';
import { t } from '../../languages/text.ts';
import { useFoundProducts } from '../../state/found-products.ts';
import { useProject } from '../../state/project.ts';
import { Thumb } from '../show.tsx';
import { FieldFrame } from './field.tsx';
import { Suggestions } from './suggest-field.tsx';

const SHOWN = 8;

/** One product of the project, found by any of its words; its identifier is the value, and may be typed too. */
export function ProductField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange(identifier: string): void;
}) {
  const id = useId();
  const project = useProject();
  const [isWanted, setWanted] = useState(false);
  const {
    data: found = NONE,
    isPending,
    error,
  } = useFoundProducts(project.id, {
    words: value,
    limit: SHOWN,
    isWanted,
  });
  return (
    <FieldFrame id={id} label={label}>
      <Autocomplete.Root
        items={found}
        filter={null}
        itemToStringValue={({ identifier }: TableProduct) => identifier}
        value={value}
        onValueChange={onChange}
        openOnInputClick
      >
        <Autocomplete.Input
          id={id}
          className="input"
          placeholder={t('Name, identifier or a value')}
          onFocus={() => setWanted(true)}
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

const NONE: TableProduct[] = [];

function describeEmpty(isPending: boolean, error: unknown): string {
  if (error) return t('The search is not ready. Type the identifier');
  return isPending ? t('Searching …') : t('No product has these words');
}
