import type { LinkLine, Relation, RelationDefinition, RelationExplanation, Tagged } from '@relata/client';
import { useState } from 'react';
import { presentLocale, rich, t } from '../languages/text.ts';
import { Button, CopyButton } from '../parts/button.tsx';
import { DeleteButton, EditorPage, Stored, useEditor } from '../parts/definitions.tsx';
import { Explanation } from '../parts/explanation.tsx';
import type { Draft } from '../parts/forms/draft.tsx';
import { Fields, FileField, SwitchField, TextField } from '../parts/forms/field.tsx';
import { ProductField } from '../parts/forms/suggest-field.tsx';
import { Card, DialogButton, ErrorNote, Note } from '../parts/page.tsx';
import { Joined, ProductLink, saveFile } from '../parts/show.tsx';
import { countUnfinished } from '../rules/filters.ts';
import type { Pair } from '../rules/verdicts.ts';
import { useSubmit } from '../state/forms.ts';
import { describeFailure } from '../state/mistakes.ts';
import { tell } from '../state/notices.ts';
import { reread } from '../state/queries.ts';
import { useCalls, useRights } from '../state/rights.ts';
import { draftedRelation, linkWith, projectLink, useFilters } from '../state/route.ts';
import { KindField, RelationDetails, RelationRule, SidesForm } from './relation-form.tsx';
import { RelationSurveyCard } from './relation-survey.tsx';
import { EMPTY, proposeName, RELATION, RelationState } from './relations.tsx';

/** One relation, to build, to try and to understand. */
export const RelationView = () => <Stored kind={RELATION}>{(stored) => <Builder stored={stored} />}</Stored>;

/** The rule comes first; name, tag and the other texts have a page of their own. */
function Builder({ stored }: { stored: Tagged<Relation> | undefined }) {
  const [empty] = useState(() => (stored === undefined ? draftedRelation.take() : undefined) ?? EMPTY);
  const editor = useEditor(RELATION, stored, empty);
  const { draft, change } = editor.edited;
  const { canChange } = useRights();
  const [{ step }, , goToStep] = useFilters(['step']);
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
                'Requests for its id then return nothing, and no other relation ever gets this id. To disable the relation for a while, switch it off instead.',
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

function Problem({ relation }: { relation: Relation | undefined }) {
  if (!relation?.problem) return null;
  return (
    <Note look="bad" title={t('This relation cannot work and returns nothing.')} lines={[relation.problem]} />
  );
}

interface RuleShape {
  edited: Draft<RelationDefinition>;
  relation: Relation | undefined;
}

function Rule({ edited: { draft, change }, relation }: RuleShape) {
  const [isOpen, setOpen] = useState(false);
  const isLinks = draft.kind === 'links';
  const [round, setRound] = useState(0);
  // Form fields keep typed text, so they are created again when the rule was changed in its sentence.
  const changeRule = (changed: Partial<RelationDefinition>) => {
    setRound(round + 1);
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
                <RelationRule draft={draft} onChange={changeRule} onOpenForm={() => setOpen(true)} />
              )}
              {relation === undefined && <KindField draft={draft} onChange={changeRule} />}
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
          {isOpen && <SidesForm key={round} draft={draft} onChange={change} />}
        </details>
      )}
    </div>
  );
}

const Marks = ({ relation }: { relation: Relation }) => (
  <span className="row">
    <RelationState relation={relation} />
    <span>{rich('tag {tag}', { tag: <span className="mono">{relation.tag}</span> })}</span>
    <CopyButton text={relation.tag} label={t('Copy the tag')} />
    <span>{rich('id {id}', { id: <span className="mono">{relation.id}</span> })}</span>
    <CopyButton text={String(relation.id)} label={t('Copy the id')} />
  </span>
);

/** Explains why one product is, or is not, a result of another. */
export function RelationExplain({ relationId }: { relationId: number }) {
  const { relata, projectId } = useCalls();
  const [pair, setPair] = useState<Pair>({ source: '', target: '' });
  const [explained, setExplained] = useState<{ explanation: RelationExplanation; pair: Pair }>();
  const { onSubmit, error, isBusy } = useSubmit(async () => {
    const trimmed = { source: pair.source.trim(), target: pair.target.trim() };
    setExplained(undefined);
    const explanation = await relata.relations.explain(
      { projectId, relationId },
      { ...trimmed, locale: presentLocale() },
    );
    setExplained({ explanation, pair: trimmed });
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
      {explained && (
        <>
          <Explanation explanation={explained.explanation} pair={explained.pair} />
          <a href={linkWith(projectLink('why'), { ...explained.pair })}>{t('The same in every relation')}</a>
        </>
      )}
    </Card>
  );
}

/** A relation's links: import, export, and those of one product. Source: docs/interface §12.8. */
export function RelationLinks({ relationId }: { relationId: number }) {
  const { canChange } = useRights();
  return (
    <Card
      title={t('Links')}
      actions={
        <>
          <ExportLinks relationId={relationId} />
          {canChange && <UploadLinks relationId={relationId} />}
        </>
      }
    >
      <FindSource relationId={relationId} />
    </Card>
  );
}

function ExportLinks({ relationId }: { relationId: number }) {
  const { relata, projectId } = useCalls();
  const save = async () => {
    const lines = await relata.relations.links({ projectId, relationId });
    saveFile(`links-${relationId}.ndjson`, [lines], 'application/x-ndjson');
  };
  return <Button onClick={() => void save().catch(tell.bad)}>{t('Export links')}</Button>;
}

function UploadLinks({ relationId }: { relationId: number }) {
  const { relata, projectId } = useCalls();
  const [file, setFile] = useState<File>();
  const [replaces, setReplaces] = useState(true);
  const [allowed, setAllowed] = useState('');
  const submit = async () => {
    if (file === undefined) return;
    const ids = { projectId, relationId };
    const task = replaces
      ? await relata.relations.putLinks(ids, file, allowed === '' ? {} : { allowDeletes: Number(allowed) })
      : await relata.relations.patchLinks(ids, file);
    const ended = await relata.tasks.wait(task.id);
    if (ended.failure)
      throw new Error(describeFailure(ended.error).message || t('The links were not stored.'));
    await reread('relation-preview');
    tell.good(t('The links were stored'));
  };
  return (
    <DialogButton
      words={t('Upload links …')}
      title={t('Upload links')}
      action={replaces ? t('Replace all links') : t('Change these links')}
      isDanger={replaces}
      onSubmit={submit}
      canSubmit={file !== undefined}
    >
      <FileField
        label={t('File')}
        accept=".ndjson,.jsonl,.gz,application/x-ndjson"
        hint={t('One line for each source: {example}', { example: '{"source":"A1","targets":["B1","B2"]}' })}
        onChange={setFile}
      />
      <SwitchField
        label={t('Replace all links')}
        hint={t('Otherwise only the links of the sources in the file.')}
        value={replaces}
        onChange={setReplaces}
      />
      {replaces && (
        <TextField
          label={t('Links that may be deleted')}
          hint={t(
            'Only if the file was refused because it deletes too much. Enter the exact number that the refusal names.',
          )}
          inputMode="numeric"
          pattern="[0-9]*"
          value={allowed}
          onChange={setAllowed}
        />
      )}
    </DialogButton>
  );
}

function FindSource({ relationId }: { relationId: number }) {
  const { relata, projectId } = useCalls();
  const [text, setText] = useState('');
  const [linkLine, setLine] = useState<LinkLine>();
  const { onSubmit, error } = useSubmit(async () => {
    const source = text.trim();
    const line = await relata.relations.links({ projectId, relationId }, { source });
    setLine(line === '' ? { source, targets: [] } : (JSON.parse(line) as LinkLine));
  });
  return (
    <form className="stack" onSubmit={onSubmit}>
      <div className="row">
        <ProductField label={t('Source')} value={text} onChange={setText} />
        <Button type="submit" disabled={text.trim() === ''}>
          {t('Show its targets')}
        </Button>
      </div>
      <ErrorNote error={error} />
      {linkLine && (
        <p aria-live="polite">
          {linkLine.targets.length === 0 && t('No links of {source}', { source: linkLine.source })}
          <Joined
            list={linkLine.targets.map((target) =>
              typeof target === 'string' ? { identifier: target } : target,
            )}
          >
            {(target) => <ProductLink {...target} />}
          </Joined>
        </p>
      )}
    </form>
  );
}
