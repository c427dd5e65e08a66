import type { Relation, RelationDefinition, RelationExplanation, Tagged } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { rich } from '../languages/rich.tsx';
import { t } from '../languages/text.ts';
import { Button, CopyButton } from '../parts/button.tsx';
import { DeleteButton } from '../parts/delete-button.tsx';
import { Explanation } from '../parts/explanation.tsx';
import { type Draft, Meanwhile, useDraft, useSaving } from '../parts/forms/draft.tsx';
import { ProductField } from '../parts/forms/product-field.tsx';
import { Answer, Card, ErrorNote, Page } from '../parts/page.tsx';
import { listChanged, type PartNames } from '../rules/changes.ts';
import type { Pair } from '../rules/verdicts.ts';
import { draftedRelation } from '../state/handover.ts';
import { MistakesContext, readMistakes } from '../state/mistakes.ts';
import { useProject } from '../state/project.ts';
import { linkTo, linkWith, useRoute } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { RelationForm, RelationRule } from './relation-form.tsx';
import { RelationSurveyCard } from './relation-survey.tsx';
import { RelationState } from './relations.tsx';

const EMPTY: RelationDefinition = {
  name: '',
  tag: '',
  twoWay: false,
  enabled: true,
  source: { all: [] },
  target: { all: [] },
  match: [],
  sort: [],
  names: [],
  excludeSameGroup: true,
};

const nameParts = (): PartNames<RelationDefinition> => ({
  ...{
    kind: t('Kind'),
    name: t('Name'),
    tag: t('Tag'),
    description: t('Description'),
    enabled: t('Answers'),
  },
  ...{ twoWay: t('Both ways'), excludeSameGroup: t('Exclude variants') },
  ...{ source: t('From these products'), target: t('To these products'), match: t('What must match') },
  ...{ sort: t('Sort order'), names: t('Names for shoppers') },
});

const BUILDING_MS = 1_500;

/** One relation: to build, to try, to understand. */
export function RelationView() {
  const { parts } = useRoute();
  const project = useProject();
  const relata = useRelata();
  const id = parts[3] ?? '';
  const isNew = id === 'new';
  const stored = useQuery({
    queryKey: ['relation', project.id, id],
    queryFn: ({ signal }) => relata.relations.get(project.id, Number(id), { signal }),
    enabled: !isNew,
    refetchInterval: ({ state }) => (state.data?.value.state === 'building' ? BUILDING_MS : false),
  });
  if (isNew) return <Builder key="new" stored={undefined} />;
  return <Answer of={stored}>{(read) => <Builder key={read.value.id} stored={read} />}</Answer>;
}

function Builder({ stored }: { stored: Tagged<Relation> | undefined }) {
  const project = useProject();
  const { canChange } = useRights();
  const [empty] = useState(() => (stored === undefined ? draftedRelation.take() : undefined) ?? EMPTY);
  const edited = useDraft<RelationDefinition>(stored, empty, nameParts());
  const { draft } = edited;
  const { save, error, isBusy } = useSave(stored?.value.id, edited);
  const relation = stored?.value;
  return (
    <Page
      title={relation?.name ?? t('New relation')}
      crumbs={[
        [project.name, linkTo('projects', project.id)],
        [t('Relations'), linkTo('projects', project.id, 'relations')],
      ]}
      about={relation && <Marks relation={relation} />}
      actions={
        canChange && (
          <>
            {relation && <DeleteRelation relation={relation} />}
            <Button
              look="primary"
              busy={isBusy}
              disabled={draft.name === '' || draft.tag === ''}
              onClick={() => void save()}
            >
              {relation ? t('Save') : t('Create the relation')}
            </Button>
          </>
        )
      }
    >
      <ErrorNote error={error} />
      <Meanwhile what="relation" of={edited} />
      {relation?.problem && (
        <div className="note bad">
          <strong>{t('This relation is misconfigured and returns nothing.')}</strong>
          <span>{relation.problem}</span>
        </div>
      )}
      <Rule edited={edited} error={error} relation={relation} />
    </Page>
  );
}

function Rule({
  edited: { draft, change, round },
  error,
  relation,
}: {
  edited: Draft<RelationDefinition>;
  error: unknown;
  relation: Relation | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  const isRule = draft.kind !== 'links';
  const [said, setSaid] = useState(0);
  // Fields of the form keep what is typed into them: those of a rule that is said anew begin anew.
  const say = (changed: Partial<RelationDefinition>) => {
    setSaid(said + 1);
    change(changed);
  };
  return (
    <div className={isRule ? 'builder said' : 'builder'}>
      <MistakesContext value={readMistakes(error)}>
        {isRule && (
          <div className="builder-rule">
            <RelationRule key={round} draft={draft} onChange={say} onOpenForm={() => setOpen(true)} />
          </div>
        )}
        <aside className="stack wide" aria-label={t('Health')}>
          <RelationSurveyCard draft={draft} />
          {relation && relation.state === 'ready' && <RelationExplain relationId={relation.id} />}
        </aside>
        <div className="builder-form">
          <RelationForm
            key={round}
            said={said}
            draft={draft}
            relationId={relation?.id}
            onChange={change}
            isOpen={isOpen}
            onToggle={setOpen}
          />
        </div>
      </MistakesContext>
    </div>
  );
}

function Marks({ relation }: { relation: Relation }) {
  return (
    <span className="row">
      <RelationState relation={relation} />
      <span>{rich('tag {tag}', { tag: <span className="mono">{relation.tag}</span> })}</span>
      <CopyButton text={relation.tag} label={t('Copy the tag')} />
      <span>{rich('id {id}', { id: <span className="mono">{relation.id}</span> })}</span>
      <CopyButton text={String(relation.id)} label={t('Copy the id')} />
    </span>
  );
}

function useSave(id: number | undefined, of: Draft<RelationDefinition>) {
  const relata = useRelata();
  const project = useProject();
  return useSaving<Relation, RelationDefinition>({
    ...{ what: 'relation', id, of },
    create: () => relata.relations.create(project.id, of.draft),
    replace: (relationId, options) =>
      relata.relations.put({ projectId: project.id, relationId }, of.draft, options),
    async undo(former, saved) {
      const { value, etag } = await relata.relations.get(project.id, saved.id);
      if (listChanged(of.names, saved, value).length > 0)
        throw new Error(t('Somebody else has changed this relation since: nothing is undone.'));
      const place = { projectId: project.id, relationId: saved.id };
      await relata.relations.put(place, former, etag ? { ifMatch: etag } : {});
    },
    tell: ({ state }) => (state === 'building' ? t('It returns results as soon as its index is built.') : ''),
  });
}

function DeleteRelation({ relation }: { relation: Relation }) {
  const relata = useRelata();
  const project = useProject();
  const remove = () => relata.relations.delete(project.id, relation.id);
  return (
    <DeleteButton what="relation" name={relation.name} remove={remove}>
      {t(
        'Requests for its id then return nothing. The id is never used again. To disable it for a while, switch it off instead.',
      )}
    </DeleteButton>
  );
}

/** Why one product is a result of another, or is not. */
export function RelationExplain({ relationId }: { relationId: number }) {
  const relata = useRelata();
  const project = useProject();
  const [pair, setPair] = useState<Pair>({ source: '', target: '' });
  const [found, setFound] = useState<{ explanation: RelationExplanation; pair: Pair }>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const explain = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const asked = { source: pair.source.trim(), target: pair.target.trim() };
    setBusy(true);
    setError(undefined);
    await relata.relations.explain({ projectId: project.id, relationId }, asked).then(
      (explanation) => setFound({ explanation, pair: asked }),
      (reason: unknown) => {
        setFound(undefined);
        setError(reason);
      },
    );
    setBusy(false);
  };
  return (
    <Card title={t('Why, or why not?')}>
      <form className="stack" onSubmit={(event) => void explain(event)}>
        <div className="fields">
          <ProductField
            label={t('Requested product')}
            value={pair.source}
            onChange={(source) => setPair({ ...pair, source })}
          />
          <ProductField
            label={t('Result')}
            value={pair.target}
            onChange={(target) => setPair({ ...pair, target })}
          />
        </div>
        <div className="row">
          <Button type="submit" busy={isBusy} disabled={pair.source === '' || pair.target === ''}>
            {t('Explain')}
          </Button>
        </div>
      </form>
      <ErrorNote error={error} />
      {found && (
        <>
          <Explanation found={found.explanation} pair={found.pair} />
          <a href={linkWith(linkTo('projects', project.id, 'why'), { ...found.pair })}>
            {t('The same in every relation')}
          </a>
        </>
      )}
    </Card>
  );
}
