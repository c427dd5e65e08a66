import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { DialogButton } from '../parts/dialog.tsx';
import { FileField, SwitchField, TextField } from '../parts/forms/field.tsx';
import { ProductField } from '../parts/forms/product-field.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { ProductLinks } from '../parts/product-chip.tsx';
import { saveFile } from '../parts/save-file.ts';
import { useSubmit } from '../state/act.ts';
import { reread, tell } from '../state/done.ts';
import { useCalls } from '../state/project.ts';
import { useRights } from '../state/session.tsx';

/** The links of a relation: from a file, to a file, and those of one product. Source: docs/interface.md §12.8. */
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
    const place = { projectId, relationId };
    const task = replaces
      ? await relata.relations.putLinks(place, file, allowed === '' ? {} : { allowDeletes: Number(allowed) })
      : await relata.relations.patchLinks(place, file);
    const ended = await relata.tasks.wait(task.id);
    if (ended.failure) throw new Error(ended.error?.message ?? t('The links were not stored.'));
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
        hint={t('A line for each source: {example}', { example: '{"source":"A1","targets":["B1","B2"]}' })}
        onChange={setFile}
      />
      <SwitchField
        label={t('Replace all links')}
        hint={t('Otherwise only those of the sources in the file.')}
        value={replaces}
        onChange={setReplaces}
      />
      {replaces && (
        <TextField
          label={t('Links that may be deleted')}
          hint={t(
            'Only if the file is refused for deleting too much: the exact number that the refusal names.',
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

interface Found {
  readonly source: string;
  readonly targets: readonly string[];
}

function FindSource({ relationId }: { relationId: number }) {
  const { relata, projectId } = useCalls();
  const [text, setText] = useState('');
  const [found, setFound] = useState<Found>();
  const { onSubmit, error } = useSubmit(async () => {
    const source = text.trim();
    const line = await relata.relations.links({ projectId, relationId }, { source });
    setFound(line === '' ? { source, targets: [] } : (JSON.parse(line) as Found));
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
      {found && (
        <p aria-live="polite">
          {found.targets.length === 0 && t('No links of {source}', { source: found.source })}
          <ProductLinks identifiers={found.targets} hasMore={false} />
        </p>
      )}
    </form>
  );
}
