import { Autocomplete } from '@base-ui/react/autocomplete';
import type { TableProduct } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { t } from '../../languages/text.ts';
import { useProject } from '../../state/project.ts';
import { useRelata } from '../../state/session.tsx';
import { useSettled } from '../../state/settled.ts';
import { Thumb } from '../show.tsx';
import { FieldFrame } from './field.tsx';
import { Suggestions } from './suggest-field.tsx';

const SHOWN = 8;
/** Somebody who chooses waits for each list. */
const REST_MS = 200;

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
  const [isWanted, setWanted] = useState(false);
  const { data: found = NONE, isPending, error } = useFound(value, isWanted);
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

function useFound(text: string, isWanted: boolean) {
  const relata = useRelata();
  const { id } = useProject();
  const q = useSettled(text.trim(), REST_MS);
  return useQuery({
    queryKey: ['found-products', id, q],
    queryFn: async ({ signal }) =>
      (await relata.products.findManaged(id, { limit: SHOWN, ...(q && { q }) }, { signal })).items,
    enabled: isWanted,
    placeholderData: (before) => before,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });
}
