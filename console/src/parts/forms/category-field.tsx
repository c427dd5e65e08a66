import { useState } from 'react';
import { useCategories } from '../../state/categories.ts';
import { SuggestField } from './suggest-field.tsx';

/** A category path, chosen or typed: `Tools > Drills`. */
export function CategoryField({
  isQuiet,
  value,
  onChange,
}: {
  isQuiet?: boolean;
  value: string;
  onChange(value: string): void;
}) {
  const [isWanted, setIsWanted] = useState(false);
  const { categories, isPending, isComplete } = useCategories(isWanted);
  return (
    <SuggestField
      label="Category"
      placeholder="Tools > Drills"
      value={value}
      choices={categories}
      empty={describeEmpty(isPending, isComplete)}
      onFocus={() => setIsWanted(true)}
      onChange={onChange}
      {...(isQuiet && { isQuiet })}
    />
  );
}

function describeEmpty(isPending: boolean, isComplete: boolean): string | undefined {
  if (isPending) return 'Loading categories';
  return isComplete ? undefined : 'No match yet; still loading';
}
