import type { Channel, ChannelDefinition, Tagged } from '@relata/client';
import { t } from '../languages/text.ts';
import { DefinitionEditor, useStored } from '../parts/forms/definition-editor.tsx';
import { type Draft, useDraft } from '../parts/forms/draft.tsx';
import { Fields } from '../parts/forms/fields.tsx';
import { useSaving } from '../parts/forms/saving.ts';
import { Answer } from '../parts/page.tsx';
import { readMistakes } from '../state/mistakes.ts';
import { useProject } from '../state/project.ts';
import { useRoute } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { DestinationsCard } from './channel-destinations.tsx';
import { EMPTY_CHANNEL, nameParts } from './channel-draft.ts';
import { BasicsCard, FilterCard, GuardsCard, TriggerCard } from './channel-form.tsx';
import { MappingCard } from './channel-mapping.tsx';
import { PreviewCard, useChannelPreview } from './channel-preview.tsx';
import { RelationsCard } from './channel-relations.tsx';

/** A channel as it is made or changed. */
export function ChannelEditor() {
  const { parts } = useRoute();
  const project = useProject();
  const relata = useRelata();
  const id = parts[3] ?? '';
  const isNew = id === 'new';
  const stored = useStored('channel', isNew ? undefined : Number(id), (channelId, signal) =>
    relata.channels.get({ projectId: project.id, channelId }, { signal }),
  );
  if (isNew) return <Editor key="new" stored={undefined} />;
  return <Answer of={stored}>{(read) => <Editor key={id} stored={read} />}</Answer>;
}

function Editor({ stored }: { stored: Tagged<Channel> | undefined }) {
  const edited = useDraft<ChannelDefinition>(stored, EMPTY_CHANNEL, nameParts());
  const { draft, change } = edited;
  const tried = useChannelPreview(draft);
  const saving = useSave(stored?.value.id, edited);
  const shape = { draft, onChange: change };
  return (
    <DefinitionEditor
      what="channel"
      stored={stored?.value}
      edited={edited}
      saving={saving}
      mistakes={readMistakes(tried.preview.error)}
    >
      <div className="builder">
        <Fields>
          <BasicsCard {...shape} />
          <FilterCard {...shape} />
          <RelationsCard {...shape} />
          <MappingCard {...shape} tried={tried} />
          <TriggerCard {...shape} />
          <DestinationsCard {...shape} />
          <GuardsCard {...shape} />
        </Fields>
        <aside className="stack wide scrolls" aria-label={t('Preview')}>
          <PreviewCard preview={tried.preview} />
        </aside>
      </div>
    </DefinitionEditor>
  );
}

function useSave(id: number | undefined, of: Draft<ChannelDefinition>) {
  const relata = useRelata();
  const project = useProject();
  return useSaving<Channel, ChannelDefinition>({
    ...{ what: 'channel', id, of },
    create: () => relata.channels.create(project.id, of.draft),
    replace: (channelId, options) =>
      relata.channels.put({ projectId: project.id, channelId }, of.draft, options),
  });
}
