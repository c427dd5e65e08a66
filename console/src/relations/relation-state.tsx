import type { Relation } from '@relata/client';
import { t } from '../languages/text.ts';

/** Whether a relation answers, and why not. */
export function RelationState({ relation }: { relation: Pick<Relation, 'state' | 'enabled'> }) {
  if (relation.state === 'misconfigured') return <span className="badge bad">{t('cannot work')}</span>;
  if (relation.state === 'building') return <span className="badge busy">{t('building')}</span>;
  return relation.enabled !== false ? (
    <span className="badge good">{t('active')}</span>
  ) : (
    <span className="badge">{t('switched off')}</span>
  );
}
