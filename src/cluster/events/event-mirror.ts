/**
 * The stream of events, mirrored into this node's own log under the same sequences: reading, waiting and webhooks work
 * on local tables. What is in the stream and is no event leaves a sequence that nothing has. Source: cluster.md, Events.
 */
import { decodeSharedEvent, type SharedLogEvent } from '../../protocol/cluster/stored-values.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { MirroredLog } from '../../core/ports/mirrored.ts';
import { eventsPerCommitMax } from './log-limits.ts';
import { StreamTail, type TailDeps, type TailMessage } from './stream-tail.ts';

export interface EventMirrorDeps extends TailDeps {
  readonly mirror: MirroredLog;
  /** Of every event, once it is mirrored. Never throws. */
  readonly saw: (event: LoggedEvent) => void;
}

export class EventMirror extends StreamTail<EventMirrorDeps> {
  protected readonly batchMax = eventsPerCommitMax;
  /** The newest sequence that was looked at: there may be no event at it. */
  #lookedAt = 0;

  /** The sequence up to which everything is here. */
  get position(): number {
    return Math.max(this.deps.mirror.head, this.#lookedAt);
  }

  protected async write(messages: readonly TailMessage[]): Promise<void> {
    const { mirror, saw } = this.deps;
    const events: LoggedEvent[] = [];
    for (const message of messages) {
      const event = this.#decode(message);
      if (event !== null) events.push(event);
    }
    const isUnbroken = messages[0]?.sequence === this.position + 1;
    if (events.length > 0) await mirror.append(events, isUnbroken);
    this.#lookedAt = messages.at(-1)?.sequence ?? this.#lookedAt;
    for (const event of events) saw(event);
  }

  #decode({ sequence, data }: TailMessage): LoggedEvent | null {
    const decoded = decodeSharedEvent(data);
    if (decoded.ok) return placed(decoded.value, sequence);
    this.deps.log.error(
      { sequence, fault: decoded.error },
      'the shared event log has something that is no event',
    );
    return null;
  }

  /** Cursors that backends hold stay good: the new stream goes on where the one that is gone had come to. */
  protected async recreated(last: number): Promise<void> {
    const { log, mirror, source } = this.deps;
    log.error(
      { head: mirror.head, last },
      'the event stream of NATS was made anew; it is emptied, and goes on behind the newest event of this node',
    );
    await source.resumeAfter(this.position);
  }
}

/** Field by field: there are thousands of them a second. */
function placed({ id, seq, draft, productId }: SharedLogEvent, sequence: number): LoggedEvent {
  const { type, data, deviceId, atMs, epoch } = draft;
  return { type, data, deviceId, atMs, epoch, id, sequence, seq, productId } as LoggedEvent;
}
