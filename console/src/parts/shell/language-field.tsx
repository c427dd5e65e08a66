import { LANGUAGES, t } from '../../languages/text.ts';
import { tell } from '../../state/done.ts';
import { type LanguageChoice, useLanguageChoice } from '../../state/language.ts';
import { SelectField } from '../forms/field.tsx';

/** Each by its own name. */
export const listLanguages = () =>
  [['auto', t('Language of the browser')], ...Object.entries(LANGUAGES)] as (readonly [
    LanguageChoice,
    string,
  ])[];

/** The language of the console, which this browser keeps. */
export function LanguageField() {
  const [choice, choose] = useLanguageChoice();
  return (
    <SelectField
      label={t('Language')}
      isQuiet
      choices={listLanguages()}
      value={choice}
      onChange={(value) => void choose(value).catch(tell.bad)}
    />
  );
}
