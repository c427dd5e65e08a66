import type { Relation, RelationDefinition, RelationExplanation, Tagged } from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button, CopyButton } from '../parts/button.tsx';
import { DeleteButton, EditorPage, Stored, useEditor } from '../parts/definitions.tsx';
import { Explanation } from '../parts/explanation.tsx';
import type { Draft } from '../parts/forms/draft.tsx';
import { Fields } from '../parts/forms/field.tsx';
import { ProductField } from '../parts/forms/product-field.tsx';
import { Card, ErrorNote, Note } from '../parts/page.tsx';
import { countUnfinished } from '../rules/filters.ts';
import type { Pair } from '../rules/verdicts.ts';
import { useSubmit } from '../state/act.ts';
import { draftedRelation } from '../state/handover.ts';
import { useCalls } from '../state/project.ts';
import { linkWith, projectLink, useFilters } from '../state/route.ts';
import { useRights } from '../state/session.tsx';
import { KindField, RelationDetails, RelationRule, SidesForm } from './relation-form.tsx';
import { EMPTY, proposeName, RELATION } from './relation-kind.ts';
import { RelationLinks } from './relation-links.tsx';
import { RelationState } from './relation-state.tsx';
import { RelationSurveyCard } from './relation-survey.tsx';

/** One relation: to build, to try, to understand. */
export const RelationView = () => <Stored kind={RELATION}>{(stored) => <Builder stored={stored} />}</Stored>;

/** The rule comes first; name, tag and what else people read of it have a page of their own. */
function Builder({ stored }: { stored: Tagged<Relation> | undefined }) {
  const [empty] = useState(() => (stored === undefined ? draftedRelation.take() : undefined) ?? EMPTY);
  const editor = useEditor(RELATION, stored, empty);
  const { draft, change } = editor.edited;
  const { canChange } = useRights();
  const [{ step }, , goToStep] = useFilters(STEP);
  const isDetails = step === 'details';
  const isWhole = countUnfinished(draft) === 0;
  const relation = stored?.value;
  const show = (next: '' | 'details') => {
    change(proposeName(draft));
    goToStep({ step: next });
    scrollTo(0, 0);
  };
  return (
    <EditorPage
      what="relation"
      stored={stored}
      editor={editor}
      about={relation && <Marks relation={relation} />}
      canSave={draft.name !== '' && draft.tag !== '' && isWhole}
      actions={
        <>
          {relation && (
            <DeleteButton kind={RELATION} value={relation}>
              {t(
                'Requests for its id then return nothing. The id is never used again. To disable it for a while, switch it off instead.',
              )}
            </DeleteButton>
          )}
          {isDetails ? (
            <Button onClick={() => show('')}>{t('Back to the rule')}</Button>
          ) : (
            relation && <Button onClick={() => show('details')}>{t('Name and tag …')}</Button>
          )}
        </>
      }
      instead={
        !(relation || isDetails) && (
          <Button look="primary" disabled={!isWhole} onClick={() => show('details')}>
            {t('Continue')}
          </Button>
        )
      }
    >
      <Problem relation={relation} />
      {!isDetails && <Rule edited={editor.edited} relation={relation} />}
      {(isDetails || !canChange) && <RelationDetails draft={draft} onChange={change} />}
    </EditorPage>
  );
}

const STEP = ['step'] as const;

function Problem({ relation }: { relation: Relation | undefined }) {
  if (!relation?.problem) return null;
  return (
    <Note look="bad" title={t('This relation cannot work and returns nothing.')} lines={[relation.problem]} />
  );
}

function Rule({
  edited: { draft, change },
  relation,
}: {
  edited: Draft<RelationDefinition>;
  relation: Relation | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  const isLinks = draft.kind === 'links';
  const [said, setSaid] = useState(0);
  // Fields of the form keep what is typed into them: those of a rule that is said anew begin anew.
  const say = (changed: Partial<RelationDefinition>) => {
    setSaid(said + 1);
    change(changed);
  };
  return (
    <div className={isLinks ? 'builder' : 'builder said'}>
      <div className="builder-rule">
        {isLinks && relation ? (
          <RelationLinks relationId={relation.id} />
        ) : (
          <Fields>
            <Card title={t('What goes together')}>
              {isLinks ? (
                <p className="note">{t('Create the relation, then upload its links.')}</p>
              ) : (
                <RelationRule draft={draft} onChange={say} onOpenForm={() => setOpen(true)} />
              )}
              {relation === undefined && <KindField draft={draft} onChange={say} />}
            </Card>
          </Fields>
        )}
      </div>
      <aside className="stack wide" aria-label={t('Health')}>
        <RelationSurveyCard draft={draft} />
        {relation && relation.state === 'ready' && <RelationExplain relationId={relation.id} />}
      </aside>
      {!isLinks && (
        <details
          className="more builder-form"
          open={isOpen}
          onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
        >
          <summary>{t('More: both sides as a form, with groups of conditions')}</summary>
          {isOpen && <SidesForm key={said} draft={draft} onChange={change} />}
        </details>
      )}
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

/** Why one product is a result of another, or is not. */
export function RelationExplain({ relationId }: { relationId: number }) {
  const { relata, projectId } = useCalls();
  const [pair, setPair] = useState<Pair>({ source: '', target: '' });
  const [found, setFound] = useState<{ explanation: RelationExplanation; pair: Pair }>();
  const { onSubmit, error, isBusy } = useSubmit(async () => {
    const trimmed = { source: pair.source.trim(), target: pair.target.trim() };
    setFound(undefined);
    const explanation = await relata.relations.explain({ projectId, relationId }, trimmed);
    setFound({ explanation, pair: trimmed });
  });
  return (
    <Card title={t('Why, or why not?')}>
      <form className="stack" onSubmit={onSubmit}>
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
          <a href={linkWith(projectLink('why'), { ...found.pair })}>{t('The same in every relation')}</a>
        </>
      )}
    </Card>
  );
}
