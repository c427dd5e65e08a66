import type { Suggestion } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { SwitchField } from '../parts/forms/field.tsx';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { useProject } from '../state/project.ts';
import { linkTo, useFilters } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { AttributeItem, DuplicateItem } from './attribute-suggestion.tsx';
import { RelationItem } from './relation-suggestion.tsx';

const FILTERS = ['dismissed'] as const;
/** They hold until the catalog changes. */
const FRESH_MS = 60_000;

/** What the data alone shows. Nothing of it is applied before somebody has looked at it. */
export function Suggestions() {
  const project = useProject();
  const relata = useRelata();
  const [{ dismissed }, filterBy] = useFilters(FILTERS);
  const isDismissed = dismissed !== '';
  const found = useQuery({
    queryKey: ['suggestions', project.id, isDismissed],
    queryFn: ({ signal }) => relata.suggestions.list(project.id, { dismissed: isDismissed, signal }),
    staleTime: FRESH_MS,
  });
  return (
    <Page
      title={t('Suggestions')}
      crumbs={[[project.name, linkTo('projects', project.id)]]}
      about={t('What the data alone shows. Nothing changes before you have looked at it.')}
    >
      <div className="filters">
        <SwitchField
          label={t('Show what was dismissed')}
          checked={isDismissed}
          onChange={(isOn) => filterBy({ dismissed: isOn ? 'yes' : '' })}
        />
      </div>
      <Answer of={found}>
        {({ items, sampled, sampledProducts }) => (
          <>
            {items.length === 0 && <None isDismissed={isDismissed} />}
            {sampled && items.length > 0 && (
              <p className="soft small">
                {t('Counted in a sample of {count, plural, one {# product} other {# products}}.', {
                  count: sampledProducts,
                })}
              </p>
            )}
            {items.map((item) => (
              <Item key={item.id} item={item} />
            ))}
          </>
        )}
      </Answer>
    </Page>
  );
}

function None({ isDismissed }: { isDismissed: boolean }) {
  return (
    <Card>
      <Empty icon="search" title={isDismissed ? t('Nothing was dismissed') : t('Nothing to suggest')}>
        {!isDismissed && (
          <p>{t('Relations, types and duplicates are looked for anew when the catalog changes.')}</p>
        )}
      </Empty>
    </Card>
  );
}

function Item({ item }: { item: Suggestion }) {
  if (item.kind === 'relation') return <RelationItem item={item} />;
  return item.kind === 'attribute' ? <AttributeItem item={item} /> : <DuplicateItem item={item} />;
}
