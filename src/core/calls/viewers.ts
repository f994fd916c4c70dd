/**
 * The viewers of calls, a few a call: they are notified of its states, and closed at its end. They change nothing of it.
 * Source: calls-and-media.md, Legs.
 */
import type { CallFollower } from './call-followers.ts';
import type { CallChange, CallSession } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import { viewersPerSessionMax } from '../../model/limits.ts';
import type { OpenViewer } from '../ports/leg-service.ts';
import type { CallLeg } from '../ports/call-leg.ts';

class Viewer implements OpenViewer {
  readonly sessionId: SessionId;
  readonly leg: CallLeg;
  readonly #viewers: Viewers;

  constructor(viewers: Viewers, sessionId: SessionId, leg: CallLeg) {
    this.#viewers = viewers;
    this.sessionId = sessionId;
    this.leg = leg;
  }

  gone(): void {
    this.#viewers.remove(this);
  }
}

export class Viewers implements CallFollower {
  readonly #bySession = new Map<SessionId, Set<Viewer>>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  hasRoom(sessionId: SessionId): boolean {
    return (this.#bySession.get(sessionId)?.size ?? 0) < viewersPerSessionMax;
  }

  /** Null: as many watch the session as may. */
  open(sessionId: SessionId, leg: CallLeg): OpenViewer | null {
    if (!this.hasRoom(sessionId)) return null;
    const viewer = new Viewer(this, sessionId, leg);
    const others = this.#bySession.get(sessionId);
    if (others === undefined) this.#bySession.set(sessionId, new Set([viewer]));
    else others.add(viewer);
    this.#count += 1;
    return viewer;
  }

  remove(viewer: Viewer): void {
    const watching = this.#bySession.get(viewer.sessionId);
    if (watching?.delete(viewer) !== true) return;
    this.#count -= 1;
    if (watching.size === 0) this.#bySession.delete(viewer.sessionId);
  }

  changed(_session: CallSession, { sessionId, state, reason }: CallChange): void {
    for (const viewer of this.#bySession.get(sessionId) ?? []) {
      viewer.leg.notify({ kind: 'state', sessionId, state, reason });
      if (state === 'ended') this.#close(viewer, 'ended');
    }
  }

  released({ sessionId }: CallSession): void {
    for (const viewer of this.#bySession.get(sessionId) ?? []) this.#close(viewer, 'drain');
  }

  drain(): void {
    for (const watching of this.#bySession.values())
      for (const viewer of watching) this.#close(viewer, 'drain');
  }

  #close(viewer: Viewer, reason: 'ended' | 'drain'): void {
    this.remove(viewer);
    viewer.leg.close(reason);
  }
}
