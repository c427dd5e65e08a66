import type { Attribute, AttributeDraft, Ontology } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Effect } from '../ontology/attribute-effect.tsx';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { useRefresh } from '../parts/forms/saving.ts';
import { Answer } from '../parts/page.tsx';
import { useTell } from '../parts/toasts.tsx';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';
import { undoOntology } from '../state/undo-ontology.ts';

/** Stores an attribute that was suggested, after its effect was shown. */
export function StoreDraft({ title, draft }: { title: string; draft: AttributeDraft }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        {t('Look at the effect …')}
      </Button>
      {isOpen && <EffectDialog title={title} draft={draft} onClose={() => setOpen(false)} />}
    </>
  );
}

interface EffectShape {
  title: string;
  draft: AttributeDraft;
  onClose(): void;
}

function EffectDialog({ title, draft, onClose }: EffectShape) {
  const relata = useRelata();
  const project = useProject();
  const refresh = useRefresh('suggestions', 'ontology', 'coverage');
  const tell = useTell();
  const effect = useQuery({
    queryKey: ['attribute-effect', project.id, JSON.stringify(draft)],
    queryFn: ({ signal }) =>
      relata.ontology.preview(project.id, draft.attribute, { deleted: draft.deleted ?? [], signal }),
  });
  const store = async () => {
    const { value, etag } = await relata.ontology.get(project.id);
    await relata.ontology.put(project.id, withDraft(value, draft), etag ? { ifMatch: etag } : {});
    const undo = await undoOntology(relata, project.id, value);
    tell.undoable(t('The ontology is saved'), () => undo().then(refresh));
    await refresh();
  };
  return (
    <FormDialog
      title={title}
      action={t('Save')}
      isWide
      isOpen
      onClose={onClose}
      onSubmit={store}
      canSubmit={effect.data !== undefined}
    >
      <Answer of={effect}>{(data) => <Effect effect={data} />}</Answer>
    </FormDialog>
  );
}

/** Source: docs/interface.md §17.1 rule 6. */
function withDraft(ontology: Ontology, { attribute, deleted = [] }: AttributeDraft): Ontology {
  const isReplaced = ({ id, name }: Attribute) =>
    attribute.id === undefined ? name === attribute.name : id === attribute.id;
  const left = ontology.attributes.filter((one) => !isReplaced(one) && !deleted.includes(one.id ?? 0));
  return { ...ontology, attributes: [...left, attribute] };
}
