import { type ChildProcess, fork } from 'node:child_process';

/** A program of this folder in a separate process, which answers one question at a time. */
export interface Child {
  readonly pid: number;
  ask<Answer>(question: unknown): Promise<Answer>;
  stop(): Promise<void>;
}

type Reply = { answer: unknown } | { failure: string };

export function startChild(program: string, args: readonly string[] = []): Child {
  const child = fork(new URL(program, import.meta.url), [...args], { serialization: 'advanced' });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} does not start`);
  return { pid, ask: (question) => ask(child, program, question), stop: () => endProcess(child) };
}

function ask<Answer>(child: ChildProcess, program: string, question: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onExit = () => settle(() => reject(new Error(`${program} ended`)));
    const onReply = (reply: Reply) =>
      settle(() => {
        if ('failure' in reply) reject(new Error(`${program}: ${reply.failure}`));
        else resolve(reply.answer as Answer);
      });
    const settle = (act: () => void) => {
      child.off('exit', onExit).off('message', onReply as () => void);
      act();
    };
    child.once('exit', onExit).once('message', onReply as () => void);
    child.send(question as object);
  });
}

export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  await ended;
}

/** Inside such a program: answers the questions of the parent one after another. */
export function answerParent<Question>(answer: (question: Question) => unknown): void {
  let turn = Promise.resolve();
  process.on('message', (question) => {
    turn = turn.then(async () => {
      try {
        reply({ answer: await answer(question as Question) });
      } catch (error) {
        reply({ failure: String((error as Error).stack) });
      }
    });
  });
  process.once('disconnect', () => process.exit());
}

function reply(message: Reply): void {
  process.send?.(message);
}
