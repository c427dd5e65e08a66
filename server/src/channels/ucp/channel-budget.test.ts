// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../kernel/errors.ts';
import { createChannelBudgets } from './channel-budget.ts';

const MIB = 1024 * 1024;

function open() {
  const clock = { at: 0, now: () => clock.at };
  return { clock, budgets: createChannelBudgets({ mibPerMinute: 60, secondsPerMinute: 6 }, clock) };
}

const isRefused =
  (seconds: number) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, 'channel_budget_used');
    assert.equal(error.facts.retryAfterSeconds, seconds);
    return true;
  };

test('a channel that has used its bytes or its time waits until both have filled up again (§16.9 rule 9)', async () => {
  const { clock, budgets } = open();
  const spend = (bytes: number, ms: number) =>
    budgets.of('A').use(async (charge) => charge({ bytes: bytes * MIB, ms }));
  await spend(59, 0);
  await spend(11, 0);
  await assert.rejects(spend(1, 0), isRefused(10));
  clock.at += 11_000;
  await spend(0, 9_000);
  await assert.rejects(spend(0, 0), isRefused(30));
  clock.at += 31_000;
  await spend(0, 0);
});

test('the callers of another channel have their own budget (§16.9 rule 9)', async () => {
  const { budgets } = open();
  await budgets.of('A').use(async (charge) => charge({ bytes: 60 * MIB, ms: 0 }));
  await assert.rejects(
    budgets.of('A').use(async () => undefined),
    ServiceError,
  );
  assert.equal(await budgets.of('B').use(async () => 'answered'), 'answered');
});

test('at most eight requests of a channel are in progress, and a failed one frees its place (§16.9 rule 9)', async () => {
  const { budgets } = open();
  const gate = Promise.withResolvers<void>();
  const held = Array.from({ length: 8 }, () => budgets.of('A').use(() => gate.promise));
  await assert.rejects(
    budgets.of('A').use(async () => undefined),
    isRefused(1),
  );
  gate.reject(new Error('it failed'));
  for (const request of held) await assert.rejects(request, /it failed/);
  assert.equal(await budgets.of('A').use(async () => 'answered'), 'answered');
});
