/**
 * A naive model of the sessions of a few devices as a backend should see them, recomputed from all facts so far: it keeps no
 * state and no epochs, and shares nothing with the state machines under test. The k-th login of a connection has epoch k, and
 * ends with the first fact that can end it.
 */
import type { ConnectionTimes } from '../../src/model/connectivity.ts';

export type Kind = 'sleep' | 'signal';

type Happening =
  | { readonly what: 'login'; readonly device: string; readonly kind: Kind }
  | {
      readonly what: 'end';
      readonly device: string;
      readonly kind: Kind;
      readonly epoch: number;
      readonly reason: string;
    }
  | { readonly what: 'heartbeat'; readonly device: string; readonly kind: Kind; readonly epoch: number }
  | { readonly what: 'kick'; readonly device: string }
  /**
   * Facts about the whole server: all sessions are drained; every heartbeat is saved; the process dies and restarts; the wall
   * clock steps.
   */
  | { readonly what: 'drain' | 'save' | 'crash' | 'step' };

export type Fact = Happening & { readonly atMs: number };

interface Session {
  readonly epoch: number;
  readonly openedBy: number;
  /** Position of the fact that ended it, and the word for it; null: open. */
  readonly end: { readonly by: number; readonly word: string } | null;
}

export interface Expected {
  /** 0: none. */
  readonly openEpoch: number;
  readonly lastEpoch: number;
  readonly times: ConnectionTimes;
  /** Reasons, by epoch, for which our side closed each connection; null: it did not. */
  readonly closes: readonly (string | null)[];
  /** Published events, each with the position of its fact. */
  readonly published: readonly { readonly by: number; readonly words: string }[];
}

export function expect(facts: readonly Fact[], device: string, kind: Kind): Expected {
  const sessions = findSessions(facts, device, kind);
  const atS = (place: number): number => Math.floor((facts[place]?.atMs ?? Number.NaN) / 1000);
  const last = sessions.at(-1);
  const offline = sessions.findLast(({ end }) => end !== null && end.word !== 'replaced')?.end;
  const heartbeats = sessions.flatMap((session) => lastHeartbeat(facts, device, kind, session) ?? []);
  return {
    openEpoch: last?.end === null ? last.epoch : 0,
    lastEpoch: sessions.length,
    times: {
      lastLoginAt: last === undefined ? null : atS(last.openedBy),
      lastHeartbeatAt: heartbeats.map(atS).at(-1) ?? null,
      lastOfflineAt: offline ? atS(offline.by) : null,
    },
    closes: sessions.map(({ end }) => (end !== null && closesFromOurSide.has(end.word) ? end.word : null)),
    published: notify(facts, sessions, `${device} ${kind}`),
  };
}

const closesFromOurSide = new Set(['replaced', 'kicked', 'drain']);

function findSessions(facts: readonly Fact[], device: string, kind: Kind): Session[] {
  const sessions: Session[] = [];
  for (const [place, fact] of facts.entries()) {
    if (!isLogin(fact, device, kind)) continue;
    const epoch = sessions.length + 1;
    sessions.push({ epoch, openedBy: place, end: findEnd(facts, place, device, kind, epoch) });
  }
  return sessions;
}

function isLogin(fact: Fact, device: string, kind: Kind): boolean {
  return fact.what === 'login' && fact.device === device && fact.kind === kind;
}

function findEnd(
  facts: readonly Fact[],
  openedBy: number,
  device: string,
  kind: Kind,
  epoch: number,
): Session['end'] {
  for (let by = openedBy + 1; by < facts.length; by++) {
    const fact = facts[by];
    if (fact === undefined) break;
    if (isLogin(fact, device, kind)) return { by, word: 'replaced' };
    if (fact.what === 'end' && fact.device === device && fact.kind === kind && fact.epoch === epoch)
      return { by, word: fact.reason };
    if (fact.what === 'kick' && fact.device === device) return { by, word: 'kicked' };
    if (fact.what === 'drain') return { by, word: 'drain' };
    if (fact.what === 'crash') return { by, word: 'node_lost' };
  }
  return null;
}

/** Position of the session's last known heartbeat; after a crash only saved heartbeats are known. */
function lastHeartbeat(
  facts: readonly Fact[],
  device: string,
  kind: Kind,
  { epoch, openedBy, end }: Session,
): number | null {
  const life = facts.slice(0, end?.by);
  const until = end?.word === 'node_lost' ? life.findLastIndex(({ what }) => what === 'save') : life.length;
  for (let place = until - 1; place > openedBy; place--) {
    const fact = life[place];
    if (fact?.what === 'heartbeat' && fact.device === device && fact.kind === kind && fact.epoch === epoch)
      return place;
  }
  return null;
}

function notify(facts: readonly Fact[], sessions: readonly Session[], whose: string): Expected['published'] {
  return sessions.flatMap(({ epoch, openedBy, end }, i) => {
    const say = (by: number, what: string): Expected['published'][number] => ({
      by,
      words: `${whose} ${what} at ${facts[by]?.atMs}`,
    });
    const verb = sessions[i - 1]?.end?.word === 'replaced' ? 'replaced' : 'opened';
    const opening = say(openedBy, `${verb} ${epoch}`);
    if (end === null || end.word === 'replaced') return [opening];
    return [opening, say(end.by, `closed ${epoch} ${end.word}`)];
  });
}
