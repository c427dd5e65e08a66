import { useState } from 'react';
import { useTableNames } from '../../state/definitions.ts';
import type { Label } from './field.tsx';
import { SuggestField } from './suggest-field.tsx';

/** The name of a table of values; one that is not there yet can be named too. */
export function TableField({ onChange, ...shape }: Label & { value: string; onChange(name: string): void }) {
  const [isNeeded, setNeeded] = useState(false);
  const choices = useTableNames(isNeeded);
  return (
    <SuggestField {...shape} choices={[...choices]} onFocus={() => setNeeded(true)} onChange={onChange} />
  );
}
