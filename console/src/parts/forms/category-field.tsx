import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { useCategories } from '../../state/catalog.ts';
import { SuggestField } from './suggest-field.tsx';

/** A category path, chosen or typed: `Tools > Drills`. */
export function CategoryField({
  label = t('Category'),
  isQuiet,
  value,
  onChange,
}: {
  label?: string;
  isQuiet?: boolean;
  value: string;
  onChange(value: string): void;
}) {
  const [isOpened, setIsOpened] = useState(false);
  const { categories, isPending, isComplete } = useCategories(isOpened);
  return (
    <SuggestField
      label={label}
      placeholder={t('Tools > Drills')}
      value={value}
      choices={categories}
      empty={describeEmpty(isPending, isComplete)}
      onFocus={() => setIsOpened(true)}
      onChange={onChange}
      {...(isQuiet && { isQuiet })}
    />
  );
}

function describeEmpty(isPending: boolean, isComplete: boolean): string | undefined {
  if (isPending) return t('Loading categories');
  return isComplete ? undefined : t('No match yet; still loading');
}
