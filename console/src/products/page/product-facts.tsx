import type { ExtractedValue, ProductPage } from '@relata/client';
import { t } from '../../languages/text.ts';
import { Card } from '../../parts/page.tsx';
import { formatType } from '../../rules/format.ts';
import { readingOf } from '../../rules/reading.ts';

/** What was sent of a product, value by value, and what became of it; what made no fact comes first. */
export function ProductFacts({ page: { values } }: { page: ProductPage }) {
  if (values.length === 0) return null;
  const missing = values.filter(({ fact }) => fact === null);
  const extracted = values.filter(({ fact }) => fact !== null);
  return (
    <Card
      title={t('Attributes')}
      actions={
        missing.length > 0 && (
          <span className="badge warn">{t('{missing} not extracted', { missing: missing.length })}</span>
        )
      }
    >
      {missing.length > 0 && <FactList list={missing} />}
      <FactList list={extracted} />
    </Card>
  );
}

function FactList({ list }: { list: readonly ExtractedValue[] }) {
  return (
    <dl className="facts">
      {list.map((one) => (
        <div key={`${one.key} ${one.value}`}>
          <dt>{one.key}</dt>
          <dd>
            {one.value}
            {one.userGroups?.map((group) => (
              <span key={group} className="tag">
                {group}
              </span>
            ))}
            <Became of={one} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Became({ of: { key, value, attribute, fact, message } }: { of: ExtractedValue }) {
  if (fact === null)
    return (
      <>
        <span className="badge warn">{t('no fact')}</span>
        <span className="small">{message ?? t('the ontology does not know this key')}</span>
      </>
    );
  const reading = readingOf(value, fact);
  return (
    <span className="soft tiny">
      {reading && `= ${reading} · `}
      {attribute !== key && `${t('as {attribute}', { attribute: attribute ?? '' })} · `}
      {formatType(fact.type)}
    </span>
  );
}
