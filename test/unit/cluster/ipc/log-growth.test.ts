/** Which processes are told that their log has grown, and what of it is told to all of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogGrowth, logFollowingLingerMs, type SharedLog } from '../../../../src/cluster/ipc/log-growth.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import { noticesGathered } from '../../../../src/cluster/ipc/accepted-notices.ts';
import type { PeerNotice } from '../../../../src/model/peer.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { testDevice } from '../../../support/fakes.ts';
import { anEvent } from '../../../support/scripted-event-log.ts';

class Process implements SharedLog {
  readonly member: MemberId;
  readonly growth: LogGrowth;
  isFollowed = false;
  refreshes = 0;
  readonly heard: string[] = [];
  readonly sessions: string[] = [];
  readonly #all: Process[];

  constructor(name: string, all: Process[], clock: DrivenClock) {
    this.member = name as MemberId;
    this.#all = all;
    this.growth = new LogGrowth(
      { self: this.member, alive: () => all.map(({ member }) => member), notify: this.#notify },
      clock,
    );
    this.growth.open(this);
    all.push(this);
  }

  refresh(): void {
    this.refreshes += 1;
  }

  shareWith(): void {}

  follow(): void {
    this.isFollowed = true;
    this.growth.begun();
  }

  leave(): void {
    this.isFollowed = false;
    this.growth.ended();
  }

  /** It has put an event into the log. Who was told that it grew. */
  write(event: LoggedEvent = anEvent(1)): string[] {
    for (const one of this.#all) one.heard.length = 0;
    this.growth.grew([event]);
    return this.#all
      .filter(({ heard }) => heard.includes(`${this.member} log-grew`))
      .map(({ member }) => member);
  }

  readonly #notify = (to: MemberId | 'everybody', notice: PeerNotice): void => {
    for (const one of this.#all)
      if (one !== this && (to === 'everybody' || to === one.member)) one.#hear(this.member, notice);
  };

  #hear(from: MemberId, notice: PeerNotice): void {
    this.heard.push(`${from} ${notice.kind}`);
    if (notice.kind === 'log-grew') this.growth.grewAt(from);
    if (notice.kind === 'log-following') this.growth.isFollowedBy(from, notice.follows);
    if (notice.kind === 'sessions-logged')
      this.sessions.push(...notice.sessions.map(({ turn }) => `${turn.kind} ${turn.atMs}`));
  }
}

function threeProcesses() {
  const clock = new DrivenClock();
  const all: Process[] = [];
  const [one, two, three] = ['one', 'two', 'three'].map((name) => new Process(name, all, clock));
  assert(one !== undefined && two !== undefined && three !== undefined);
  return { clock, all, one, two, three };
}

test('who does not follow the log is told once that it grew, and who follows it each time', () => {
  const { one, two } = threeProcesses();
  two.follow();
  assert.deepEqual(one.write(), ['two', 'three']);
  assert.deepEqual(one.write(), ['two']);
  assert.deepEqual(two.refreshes, 2);
});

test('who begins to follow is told by all that it told otherwise, so that it misses nothing', () => {
  const { one, two, three } = threeProcesses();
  one.write();
  three.write();
  assert.deepEqual([one.write(), three.write()], [[], []]);
  two.heard.length = 0;
  two.follow();
  assert.deepEqual(two.heard.toSorted(), ['one log-grew', 'three log-grew']);
  assert.deepEqual([one.write(), three.write()], [['two'], ['two']]);
});

test('a pause between two waits changes nothing', () => {
  const { clock, one, two, three } = threeProcesses();
  two.follow();
  one.write();
  two.leave();
  clock.advance(logFollowingLingerMs - 1);
  assert.deepEqual(one.write(), ['two']);
  two.follow();
  assert.deepEqual(one.write(), ['two']);
  assert.deepEqual(three.heard, [], 'nobody else is told of it');
  two.leave();
  clock.advance(logFollowingLingerMs);
  assert.deepEqual([one.write(), one.write()], [['two'], []]);
});

test('who comes later is told, and a process that is gone is forgotten', () => {
  const { clock, all, one, two } = threeProcesses();
  one.write();
  all.splice(all.indexOf(two), 1);
  const again = new Process('two, again', all, clock);
  assert.deepEqual(one.write(), ['two, again']);
  again.follow();
  assert.deepEqual(one.write(), ['two, again']);
});

test('logins and resets are told to all, with their devices, the first at once', () => {
  const { clock, one, two } = threeProcesses();
  const data = { session: 's', node: 'node-1', replaced: false };
  const login = (atMs: number) =>
    ({ ...anEvent(atMs), type: 'device.signal.online', deviceId: testDevice, atMs, data }) as LoggedEvent;
  const reset = {
    ...anEvent(5),
    type: 'device.sleep.offline',
    atMs: 5,
    epoch: 3,
    data: { session: 's', node: 'node-1', reason: 'reset' },
  } as LoggedEvent;
  one.write(login(1));
  assert.deepEqual(two.sessions, ['login 1']);
  one.write(login(2));
  one.write(reset);
  one.write();
  assert.deepEqual(two.sessions, ['login 1']);
  clock.advance(noticesGathered.ms);
  assert.deepEqual(two.sessions, ['login 1', 'login 2', 'reset 5']);
});
