import { t } from '../languages/text.ts';
import { Card } from '../parts/page.tsx';
import { Meter } from '../parts/show.tsx';
import type { Coverage } from './coverage.ts';

const SHOWN = 20;

/** Keys of uploads that are no attribute: their values are kept and make no fact. */
export function UnknownKeys({ coverage: { answer } }: { coverage: Coverage }) {
  const { unknown, sampledProducts } = answer;
  if (unknown.length === 0) return null;
  return (
    <Card
      title={t('{count, plural, one {# key} other {# keys}} without an attribute', { count: unknown.length })}
    >
      <p className="soft">
        {t(
          'Create an attribute for a key, or add the key to the synonyms of one, and its values become facts.',
        )}
      </p>
      <ul className="bars">
        {unknown.slice(0, SHOWN).map(({ name, withValue, values }) => (
          <li key={name}>
            <span className="cut">
              {name} <span className="soft">{t('such as {value}', { value: values[0]?.value })}</span>
            </span>
            <span className="soft">
              {t('{count, plural, one {# product} other {# products}}', { count: withValue })}
            </span>
            <Meter
              share={sampledProducts > 0 ? withValue / sampledProducts : 0}
              label={t('Products with {name}', { name })}
            />
          </li>
        ))}
      </ul>
    </Card>
  );
}
