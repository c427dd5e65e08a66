import { type ChannelDestination, choices } from '@relata/client';
import { Button } from '../parts/button.tsx';
import { OptionFields } from '../parts/option-field.tsx';
import { Card } from '../parts/page.tsx';
import { findChoice, hintOf, startTyped, toChoice } from '../state/choices.ts';
import { useMistakeOf } from '../state/mistakes.ts';
import type { ChannelShape } from './channel-draft.ts';

const KINDS = choices.ChannelDestination.map(toChoice);
/** Source: docs/interface.md §16.8 rule 1. */
const MOST = 5;

/** Servers and buckets that each build is delivered to, beside its URL. */
export function DestinationsCard({ draft, onChange }: ChannelShape) {
  const chosen = draft.destinations ?? [];
  const put = (at: number, next: ChannelDestination | undefined) =>
    onChange({ destinations: chosen.toSpliced(at, 1, ...(next === undefined ? [] : [next])) });
  return (
    <Card title="Destinations">
      {chosen.length === 0 && <p className="soft">None: the files are at the URL of the channel only.</p>}
      {chosen.map((destination, at) => (
        <Destination key={at} at={at} destination={destination} onChange={(next) => put(at, next)} />
      ))}
      {chosen.length < MOST && (
        <div className="row">
          {KINDS.map(([type, label]) => (
            <Button
              key={type}
              icon="plus"
              look="quiet"
              onClick={() => put(chosen.length, startTyped('ChannelDestination', type) as ChannelDestination)}
            >
              {label}
            </Button>
          ))}
        </div>
      )}
    </Card>
  );
}

interface DestinationShape {
  at: number;
  destination: ChannelDestination;
  onChange(next: ChannelDestination | undefined): void;
}

function Destination({ at, destination, onChange }: DestinationShape) {
  const place = `/destinations/${at}`;
  const refused = useMistakeOf(place);
  return (
    <fieldset className="stack tried-row">
      <legend className="label">
        {at + 1}. {findChoice('ChannelDestination', destination)?.label}
      </legend>
      <p className="soft small">{hintOf('ChannelDestination', destination)}.</p>
      {refused && <p className="mistake small">{refused}</p>}
      <div className="fields">
        <OptionFields<ChannelDestination>
          kind="ChannelDestination"
          part={destination}
          place={place}
          onChange={onChange}
        />
      </div>
      <div className="row">
        <Button icon="cross" look="quiet" onClick={() => onChange(undefined)}>
          Remove this destination
        </Button>
      </div>
    </fieldset>
  );
}
