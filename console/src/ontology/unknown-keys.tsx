import { Card } from '../parts/page.tsx';
import { Meter } from '../parts/show.tsx';
import { countOf } from '../rules/format.ts';
import type { Coverage } from './coverage.ts';

const SHOWN = 20;

/** Keys of uploads that are no attribute: their values are kept and make no fact. */
export function UnknownKeys({ coverage: { answer } }: { coverage: Coverage }) {
  const { unknown, sampledProducts } = answer;
  if (unknown.length === 0) return null;
  return (
    <Card title={`${countOf(unknown.length, 'key')} without an attribute`}>
      <p className="soft">
        Create an attribute for a key, or add the key to the synonyms of one, and its values become facts.
      </p>
      <ul className="bars">
        {unknown.slice(0, SHOWN).map(({ name, withValue, values }) => (
          <li key={name}>
            <span className="cut">
              {name} <span className="soft">such as {values[0]?.value}</span>
            </span>
            <span className="soft">{countOf(withValue, 'product')}</span>
            <Meter
              share={sampledProducts > 0 ? withValue / sampledProducts : 0}
              label={`Products with ${name}`}
            />
          </li>
        ))}
      </ul>
    </Card>
  );
}
