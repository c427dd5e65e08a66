import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Answer, Card } from '../parts/page.tsx';
import { useRelations } from '../state/definitions.ts';
import { useOfProject } from '../state/project.ts';
import { linkWith, projectLink } from '../state/route.ts';

const SHOWN = 10;

/** Which missing values leave most verdicts unknown, counted on demand, as the service reads every product. */
export function UnknownVerdicts() {
  const relations = useRelations();
  const [isAsked, setAsked] = useState(false);
  if (!relations.data?.some(({ constraint, kind }) => constraint || kind === 'total')) return null;
  return (
    <Card title={t('What leaves verdicts unknown')}>
      {isAsked ? (
        <Counted />
      ) : (
        <div className="row">
          <p className="soft">{t('Products that a constraint is about and that lack a value it needs.')}</p>
          <Button onClick={() => setAsked(true)}>{t('Count missing values')}</Button>
        </div>
      )}
    </Card>
  );
}

function Counted() {
  const ontology = projectLink('ontology');
  const counted = useOfProject(
    ['coverage', 'unknown'],
    ({ relata, projectId, signal }) => relata.relations.missingValues(projectId, { signal }),
    { refetchOnWindowFocus: false },
  );
  return (
    <Answer of={counted}>
      {({ items }) =>
        items.length === 0 ? (
          <p>{t('Nothing: every product has what the constraints need.')}</p>
        ) : (
          <ol>
            {items.slice(0, SHOWN).map(({ attribute, products, verdicts }) => (
              <li key={attribute}>
                <a href={linkWith(ontology, { contains: attribute })}>{attribute}</a>
                {': '}
                {t(
                  '{products, plural, one {# product} other {# products}}, up to {verdicts, plural, one {# verdict} other {# verdicts}}',
                  {
                    products,
                    verdicts,
                  },
                )}
              </li>
            ))}
          </ol>
        )
      }
    </Answer>
  );
}
