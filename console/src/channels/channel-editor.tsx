import type { Channel, ChannelDefinition, Tagged } from '@relata/client';
import { useState } from 'react';
import { DefinitionEditor, useStored } from '../parts/definition-editor.tsx';
import { Answer } from '../parts/page.tsx';
import { useSaving } from '../parts/saving.ts';
import { readMistakes } from '../state/mistakes.ts';
import { useProject } from '../state/project.ts';
import { useRoute } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { DestinationsCard } from './channel-destinations.tsx';
import { EMPTY_CHANNEL } from './channel-draft.ts';
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
  const [draft, setDraft] = useState<ChannelDefinition>(stored?.value ?? EMPTY_CHANNEL);
  const change = (changed: Partial<ChannelDefinition>) => setDraft((before) => ({ ...before, ...changed }));
  const tried = useChannelPreview(draft);
  const saving = useSave(stored, draft);
  const shape = { draft, onChange: change };
  return (
    <DefinitionEditor
      what="channel"
      stored={stored?.value}
      draft={draft}
      saving={saving}
      mistakes={readMistakes(tried.preview.error)}
    >
      <div className="builder">
        <div className="stack wide">
          <BasicsCard {...shape} />
          <FilterCard {...shape} />
          <RelationsCard {...shape} />
          <MappingCard {...shape} tried={tried} />
          <TriggerCard {...shape} />
          <DestinationsCard {...shape} />
          <GuardsCard {...shape} />
        </div>
        <aside className="stack wide scrolls" aria-label="Preview">
          <PreviewCard preview={tried.preview} />
        </aside>
      </div>
    </DefinitionEditor>
  );
}

function useSave(stored: Tagged<Channel> | undefined, draft: ChannelDefinition) {
  const relata = useRelata();
  const project = useProject();
  return useSaving<Channel>({
    what: 'channel',
    stored,
    create: () => relata.channels.create(project.id, draft),
    replace: (channelId, options) =>
      relata.channels.put({ projectId: project.id, channelId }, draft, options),
  });
}
