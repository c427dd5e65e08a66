import { LANGUAGES, t } from '../../languages/text.ts';
import { type LanguageChoice, useLanguageChoice } from '../../state/language.ts';
import { SelectField } from '../forms/field.tsx';
import { useTell } from '../toasts.tsx';

/** The language of the console, which this browser keeps. */
export function LanguageField() {
  const [choice, choose] = useLanguageChoice();
  const tell = useTell();
  return (
    <SelectField
      label={t('Language')}
      isQuiet
      choices={[['auto', t('Language of the browser')], ...Object.entries(LANGUAGES)]}
      value={choice}
      onChange={({ target }) => void choose(target.value as LanguageChoice).catch(tell.bad)}
    />
  );
}
