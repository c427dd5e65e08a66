import type { Relation, RelationDefinition, Tagged } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, CopyButton } from '../parts/button.tsx';
import { DeleteButton } from '../parts/delete-button.tsx';
import { Answer, ErrorNote, Page } from '../parts/page.tsx';
import { useSaving } from '../parts/saving.ts';
import { useProject } from '../state/project.ts';
import { linkTo, useRoute } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { RelationExplain } from './relation-explain.tsx';
import { RelationForm } from './relation-form.tsx';
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
  const [draft, setDraft] = useState<RelationDefinition>(stored?.value ?? EMPTY);
  const { save, error, isBusy } = useSave(stored, draft);
  const relation = stored?.value;
  return (
    <Page
      title={relation?.name ?? 'New relation'}
      crumbs={[
        [project.name, linkTo('projects', project.id)],
        ['Relations', linkTo('projects', project.id, 'relations')],
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
              {relation ? 'Save' : 'Create the relation'}
            </Button>
          </>
        )
      }
    >
      <ErrorNote error={error} />
      {relation?.problem && (
        <div className="note bad">
          <strong>This relation is misconfigured and returns nothing.</strong>
          <span>{relation.problem}</span>
        </div>
      )}
      <div className="builder">
        <RelationForm
          draft={draft}
          relationId={relation?.id}
          onChange={(changed) => setDraft({ ...draft, ...changed })}
        />
        <aside className="stack wide" aria-label="Health">
          <RelationSurveyCard draft={draft} />
          {relation && relation.state === 'ready' && <RelationExplain relationId={relation.id} />}
        </aside>
      </div>
    </Page>
  );
}

function Marks({ relation }: { relation: Relation }) {
  return (
    <span className="row">
      <RelationState relation={relation} />
      <span>
        tag <span className="mono">{relation.tag}</span>
      </span>
      <CopyButton text={relation.tag} label="Copy the tag" />
      <span>
        id <span className="mono">{relation.id}</span>
      </span>
      <CopyButton text={String(relation.id)} label="Copy the id" />
    </span>
  );
}

function useSave(stored: Tagged<Relation> | undefined, draft: RelationDefinition) {
  const relata = useRelata();
  const project = useProject();
  return useSaving<Relation>({
    what: 'relation',
    stored,
    create: () => relata.relations.create(project.id, draft),
    replace: (relationId, options) =>
      relata.relations.put({ projectId: project.id, relationId }, draft, options),
    tell: ({ state }) => (state === 'building' ? 'It returns results as soon as its index is built.' : ''),
  });
}

function DeleteRelation({ relation }: { relation: Relation }) {
  const relata = useRelata();
  const project = useProject();
  const remove = () => relata.relations.delete(project.id, relation.id);
  return (
    <DeleteButton what="relation" name={relation.name} remove={remove}>
      Requests for its id then return nothing. The id is never used again. To disable it for a while, switch
      it off instead.
    </DeleteButton>
  );
}
