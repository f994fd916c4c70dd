/**
 * Signed requests that were answered, over an ordered stop: a core that ends writes them into a file, and the next one restores and
 * deletes it before it serves, so that a repeat changes nothing a second time. Source: docs/adr/0008.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { packPlain, unpackOwn } from '../../lib/plain-msgpack.ts';
import { messageOf } from '../../lib/result.ts';
import type { AnsweredRequests, AnswerMemory } from '../../core/messages/answer-memory.ts';
import { PrivateFile } from '../../storage/keys/private-file.ts';
import type { ServerContext } from './server-context.ts';

type Memory = Pick<AnswerMemory<never>, 'save' | 'restore'>;

export interface AnsweringParts extends Pick<
  ServerContext,
  'memory' | 'messages' | 'wakings' | 'issued' | 'callEnds' | 'log'
> {
  readonly provisioner: { readonly known: Memory };
}

/** To be changed with the form of an answer: a file of another version is deleted unread. */
const version = 1;

interface Saved {
  readonly version: number;
  readonly memories: Readonly<Record<keyof ReturnType<typeof memoriesOf>, AnsweredRequests>>;
}

/** Behind the last answer. Never rejects: a stop does not fail for it. */
export async function saveAnswered(parts: AnsweringParts, dataDirectory: string): Promise<void> {
  const memories = Object.entries<Memory>(memoriesOf(parts)).map(
    ([name, memory]) => [name, memory.save()] as const,
  );
  if (memories.every(([, answered]) => answered.length === 0)) return;
  const saved = { version, memories: Object.fromEntries(memories) };
  try {
    await fileIn(dataDirectory).write(packPlain(saved));
  } catch (error) {
    parts.log.warn(
      { reason: messageOf(error) },
      'the next start does not know the requests that were answered',
    );
  }
}

/** Before the first request. Never rejects. */
export async function restoreAnswered(parts: AnsweringParts, dataDirectory: string): Promise<void> {
  const file = fileIn(dataDirectory);
  try {
    const written = await file.read();
    if (written === null) return;
    rmSync(file.path);
    const saved = unpackOwn(written.bytes) as Saved | undefined;
    if (saved?.version !== version) return;
    for (const [name, memory] of Object.entries<Memory>(memoriesOf(parts)))
      memory.restore(saved.memories[name as keyof Saved['memories']]);
  } catch (error) {
    parts.log.warn(
      { reason: messageOf(error) },
      'requests that were answered before this start are not known',
    );
  }
}

function fileIn(dataDirectory: string): PrivateFile {
  return new PrivateFile(join(dataDirectory, 'answered-requests'), 'answered requests');
}

function memoriesOf({ memory, messages, wakings, issued, callEnds, provisioner }: AnsweringParts) {
  const { answered: ends } = callEnds;
  return { wakeups: memory, messages, wakings, issued, ends, provisioned: provisioner.known };
}
