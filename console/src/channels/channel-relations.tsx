import type { ChannelRelation, Relation } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { rich } from '../languages/rich.tsx';
import { t } from '../languages/text.ts';
import { type Choice, NumberField, SelectField } from '../parts/forms/field.tsx';
import { type Row, Rows } from '../parts/forms/rows.tsx';
import { Card } from '../parts/page.tsx';
import { useMistake } from '../state/mistakes.ts';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { type ChannelShape, listRelatedAs } from './channel-draft.ts';

const NEW_RELATION: ChannelRelation = { as: 'accessory', limit: 10 };

/** A tag and an id in one list. */
const writeChoice = ({ tag, id }: Pick<ChannelRelation, 'tag' | 'id'>) => {
  if (tag !== undefined) return `tag:${tag}`;
  return id === undefined ? '' : `id:${id}`;
};

function readChoice(choice: string): Pick<ChannelRelation, 'tag' | 'id'> {
  if (choice.startsWith('tag:')) return { tag: choice.slice(4) };
  return choice === '' ? {} : { id: Number(choice.slice(3)) };
}

/** Tags come first: a channel with a tag takes relations that are made later, too. */
function listChoices(relations: readonly Relation[], present: string): Choice[] {
  const tags = [...new Set(relations.map(({ tag }) => tag))];
  const known: Choice[] = [
    ['', '—'],
    ...tags.map((tag) => [`tag:${tag}`, t('Tag: {tag}', { tag })] as const),
    ...relations.map(({ id, name }) => [`id:${id}`, name] as const),
  ];
  const isKnown = known.some(([value]) => value === present);
  return isKnown
    ? known
    : [...known, [present, t('{relation}, which is gone', { relation: present.replace(':', ' ') })]];
}

/** Which related products go out, and as what. Source: docs/interface.md §16.1 rule 4. */
export function RelationsCard({ draft, onChange }: ChannelShape) {
  const { data: relations } = useRelations();
  const chosen = draft.relations ?? [];
  return (
    <Card title={t('Related products')}>
      {chosen.length === 0 && (
        <p className="soft">{t('None: products go out without those that go with them.')}</p>
      )}
      <Rows
        values={chosen}
        removing={t('Remove this relation')}
        kinds={relations?.length === 0 ? {} : { [t('Relation')]: NEW_RELATION }}
        onChange={(next) => onChange({ relations: [...next] })}
      >
        {(row) => <RelationRow {...row} relations={relations ?? []} />}
      </Rows>
      {relations?.length === 0 && <NoRelation />}
    </Card>
  );
}

function useRelations() {
  const relata = useRelata();
  const project = useProject();
  return useQuery({
    queryKey: ['relations', project.id],
    queryFn: ({ signal }) => relata.relations.list(project.id, { signal }),
  });
}

function NoRelation() {
  const project = useProject();
  return (
    <p className="soft small">
      {rich('This project has no relation yet. <link>Create one</link> first.', {
        link: (words) => <a href={linkTo('projects', project.id, 'relations')}>{words}</a>,
      })}
    </p>
  );
}

interface RowShape extends Row<ChannelRelation> {
  readonly relations: readonly Relation[];
}

function RelationRow({ at, value: relation, relations, change, remove }: RowShape) {
  const mistake = useMistake();
  const { tag: _, id: __, ...rest } = relation;
  const present = writeChoice(relation);
  const isFollowing = at > 0;
  return (
    <div className="filter-row related">
      <SelectField
        label={t('Relation')}
        isQuiet={isFollowing}
        choices={listChoices(relations, present)}
        value={present}
        mistake={mistake(`/relations/${at}`)}
        onChange={({ target }) => change({ ...readChoice(target.value), ...rest })}
      />
      <SelectField
        label={t('They go out as')}
        isQuiet={isFollowing}
        choices={listRelatedAs()}
        value={relation.as}
        onChange={({ target }) => change({ ...relation, as: target.value as ChannelRelation['as'] })}
      />
      <NumberField
        label={t('At most')}
        isQuiet={isFollowing}
        value={relation.limit}
        onChange={(limit) => change({ ...relation, limit })}
      />
      {remove}
    </div>
  );
}
