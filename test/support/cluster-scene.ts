/**
 * Several members of a cluster in this process: real directories, watches and operations, a network that can fail, and shared
 * rows. One device unless a test names another; the clock stands still until a test moves it.
 */
import { CallScene } from './call-scene.ts';
import { DeviceDirectory } from '../../src/core/devices/device-directory.ts';
import { followLoggedSessions, OutcomeWaiters } from '../../src/core/wakeups/log-followers.ts';
import { UnclaimedSessions } from '../../src/core/devices/unclaimed-sessions.ts';
import { WakeupWatch } from '../../src/core/wakeups/wakeup-watch.ts';
import type { ConnectionKind, MemberId, SessionName } from '../../src/model/cluster.ts';
import type { ConnectivityRecord } from '../../src/model/connectivity.ts';
import type { DeviceId, RequestId, SessionId } from '../../src/model/ids.ts';
import type { MessageRequest } from '../../src/model/message.ts';
import type { WakeMode } from '../../src/model/sleep.ts';
import type { WakeupRecord, WakeupRequest, WakeupName } from '../../src/model/wakeup.ts';
import { answerPeers, type PeersDeps, reconcileSlots } from '../../src/cluster/ownership/answer-peers.ts';
import type { MessageDeps } from '../../src/core/messages/deliver-message.ts';
import type { WakeupDeps } from '../../src/core/wakeups/do-wakeup.ts';
import { AnsweredEnds, type CallEndDeps } from '../../src/core/calls/end-call.ts';
import { callsHere } from '../../src/core/ports/call-locator.ts';
import { EndedCalls } from '../../src/core/calls/ended-calls.ts';
import { CallRejections } from '../../src/core/calls/reject-call.ts';
import { IssuedCalls } from '../../src/core/calls/issue-call-credentials.ts';
import type { ClusterDeps } from '../../src/core/devices/locate-device.ts';
import { MemberSearch } from '../../src/core/devices/member-search.ts';
import { observeAtOwners } from '../../src/core/devices/observe-at-owners.ts';
import { messagesKnownMax } from '../../src/model/limits.ts';
import { AnswerMemory } from '../../src/core/messages/answer-memory.ts';
import { queryConnectivity, type ConnectivityDeps } from '../../src/core/devices/query-connectivity.ts';
import { queryWakeupOutcome, type WakeupOutcomeDeps } from '../../src/core/wakeups/query-wakeup-outcome.ts';
import { sendMessage } from '../../src/core/messages/send-message.ts';
import { RequestLog } from '../../src/core/requests/request-log.ts';
import { AnsweredWakeups } from '../../src/core/wakeups/answered-wakeups.ts';
import type { WakingDeps } from '../../src/core/messages/send-waking-message.ts';
import { submitWakeup } from '../../src/core/wakeups/submit-wakeup.ts';
import { WaitingReaders } from '../../src/core/events/waiting-readers.ts';
import { WakeupLimits } from '../../src/core/devices/request-limits.ts';
import { WakeupMemory } from '../../src/core/wakeups/wakeup-memory.ts';
import {
  type SlotClaimed,
  type SlotFollower,
  SharedStateUnavailable,
} from '../../src/core/ports/session-locator.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeNetwork, type FakePeers } from './fake-peers.ts';
import {
  FakeConnection,
  FakeLog,
  FakeRegistry,
  FakeSignalConnection,
  FakeTelemetry,
  FakeWakeupRecords,
  testApp,
  testDevice,
} from './fakes.ts';
import { MemberRecords, SharedRows } from './shared-rows.ts';

/** A session as its device sees it: the connection, and the id and epoch that the member assigned. */
export interface Session<Connection> {
  readonly connection: Connection;
  readonly session: SessionId;
  readonly epoch: number;
}

export class ClusterScene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly network = new FakeNetwork(this.clock);
  readonly shared = new SharedRows(this.clock);
  readonly members: readonly ClusterMember[];
  #signatures = 0;
  #sessions = 0;

  /** Writes of members do not reach the shared rows yet. */
  isBehind = false;

  /** One member per name; two equal names are two processes of one node. */
  constructor(nodes: readonly string[] = ['n1', 'n2', 'n3']) {
    this.members = nodes.map((node, place) => new ClusterMember(this, node, place));
  }

  /** The member at this index. Fails if there is none. */
  member(place: number): ClusterMember {
    const member = this.members[place];
    if (member === undefined) throw new Error(`there is no member ${place}`);
    return member;
  }

  nextSession(): SessionId {
    return `session-${(this.#sessions += 1)}` as SessionId;
  }

  wakeup(overrides: Partial<WakeupRequest> = {}): WakeupRequest {
    const signature = this.#signature();
    return {
      appId: testApp,
      deviceId: testDevice,
      customData: null,
      customDataText: null,
      requestId: `made-${this.#signatures}` as RequestId,
      signature,
      signatureExpiresMs: this.clock.wallMs() + 300_000,
      ...overrides,
    };
  }

  message(overrides: Partial<MessageRequest> = {}): MessageRequest {
    return {
      appId: testApp,
      deviceId: testDevice,
      name: 'hello',
      payload: {},
      signature: this.#signature(),
      signatureExpiresMs: this.clock.wallMs() + 300_000,
      ...overrides,
    };
  }

  /** Events of wakeups in the order of the log: `completed made-1`. */
  wakeupEvents(): string[] {
    return this.shared.log
      .read(0, 1000)
      .flatMap(({ type, data }) =>
        'request_id' in data ? [`${type.replace('device.wakeup.', '')} ${data.request_id}`] : [],
      );
  }

  recall(name: WakeupName): Promise<WakeupRecord | null> {
    if (this.shared.fault !== null) return Promise.reject(new SharedStateUnavailable('nobody is there'));
    if (this.isBehind) return Promise.resolve(null);
    const records = this.members.flatMap(({ wakeupRecords }) => wakeupRecords.find(name) ?? []);
    return Promise.resolve(records.toSorted((one, other) => (one.id < other.id ? 1 : -1))[0] ?? null);
  }

  #signature(): string {
    return (this.#signatures += 1).toString(16).padStart(64, '0');
  }
}

class MemberWakeups extends FakeWakeupRecords {
  readonly #shared: SharedRows;

  constructor(shared: SharedRows) {
    super();
    this.#shared = shared;
  }

  override save(...saved: Parameters<FakeWakeupRecords['save']>): void {
    super.save(...saved);
    const [, , , event] = saved;
    if (event !== null) this.#shared.log.append(event);
  }
}

type AllDeps = WakeupDeps & ConnectivityDeps & WakeupOutcomeDeps;

export class ClusterMember {
  readonly id: MemberId;
  readonly node: string;
  readonly telemetry = new FakeTelemetry();
  readonly log = new FakeLog();
  readonly wakeupRecords: FakeWakeupRecords;
  readonly sleepRecords: MemberRecords;
  readonly signalRecords: MemberRecords;
  readonly directory: DeviceDirectory;
  readonly watch: WakeupWatch;
  readonly peers: FakePeers;
  readonly deps: AllDeps;
  readonly messages: MessageDeps;
  readonly waking: WakingDeps;
  readonly answeredWakeups: AnsweredWakeups;
  readonly issued: IssuedCalls;
  /** Calls of this member, on a clock of their own. */
  readonly calls = new CallScene();
  readonly ends: CallEndDeps;
  readonly rejections: CallRejections;
  readonly slots: SlotFollower;
  draining = false;
  readonly #scene: ClusterScene;

  constructor(scene: ClusterScene, node: string, place: number) {
    this.#scene = scene;
    this.node = node;
    this.id = `${node}/${place}@incarnation-${place}` as MemberId;
    const { clock, registry, shared, network } = scene;
    const { telemetry, log } = this;
    const slots = {
      claimed: (slot: SlotClaimed) => this.slots.claimed(slot),
      lost: (slot: SessionName) => this.slots.lost(slot),
    };
    this.sleepRecords = new MemberRecords('sleep', this, shared, slots);
    this.signalRecords = new MemberRecords('signal', this, shared, slots);
    this.wakeupRecords = new MemberWakeups(shared);
    this.directory = new DeviceDirectory(this);
    this.watch = new WakeupWatch({ clock, records: this.wakeupRecords, telemetry });
    this.directory.follow(this.watch);
    this.watch.start();
    followLoggedSessions(shared.log, this.watch);
    this.peers = network.join(this.id, {
      answer: (question) => this.#host.answer(question),
      receive: (notice, from) => this.#host.receive(notice, from),
    });
    this.slots = reconcileSlots(this.directory, this.peers);
    const cluster: ClusterDeps = {
      peers: this.peers,
      locator: shared,
      search: new MemberSearch(clock, this.peers),
      recallWakeup: (name) => scene.recall(name),
      logReaches: async () => true,
    };
    const rate = { perSecond: 1, burst: 3 };
    const { peers } = this;
    const known = { clock, registry, directory: this.directory, telemetry, log, peers, cluster };
    const { sleepRecords, signalRecords, wakeupRecords, watch } = this;
    this.deps = {
      ...known,
      observe: observeAtOwners(peers, shared),
      sleepRecords,
      signalRecords,
      wakeupRecords,
      watch,
      unclaimed: new UnclaimedSessions({ clock, directory: this.directory }),
      memory: new WakeupMemory(wakeupRecords, clock, 1000),
      limits: new WakeupLimits(
        clock,
        { device: rate, application: { perSecond: 300, burst: 300 }, inFlightMax: 100 },
        () => this.peers.alive().length,
      ),
      readers: new WaitingReaders(clock, { max: 10, perApplicationMax: 10 }),
      waiters: new OutcomeWaiters(shared.log),
      isDraining: () => this.draining,
      storeRefuses: () => false,
    };
    const { calls } = this;
    this.ends = {
      clock,
      registry,
      log,
      directory: calls.directory,
      records: calls.records,
      events: { recentOf: () => [] },
      ended: new EndedCalls(clock),
      answered: new AnsweredEnds(clock, (answered) => this.peers.notify('everybody', answered)),
      callLocator: callsHere,
    };
    this.rejections = new CallRejections({ directory: calls.directory, callLocator: callsHere, telemetry });
    this.issued = new IssuedCalls(clock, (issued) => this.peers.notify('everybody', issued));
    this.messages = {
      ...known,
      memory: new AnswerMemory(clock, messagesKnownMax),
      isDraining: () => this.draining,
    };
    this.answeredWakeups = new AnsweredWakeups(clock, log, new RequestLog('off', clock, log));
    this.waking = {
      ...this.messages,
      wakeups: this.deps,
      answeredWakeups: this.answeredWakeups,
      outcomes: this.deps,
      waiting: new WaitingReaders(clock, { max: 3, perApplicationMax: 2 }),
      wakings: new AnswerMemory(clock, messagesKnownMax),
    };
  }

  get #host(): ReturnType<typeof answerPeers> {
    const { directory, log, deps, messages } = this;
    const unasked = (): never => {
      throw new Error('unexpected question in this scene');
    };
    const others: PeersDeps['others'] = {
      'issue-call': unasked,
      'find-call': unasked,
      wakeups: unasked,
      'held-devices': unasked,
    };
    return answerPeers({
      clock: this.#scene.clock,
      log,
      directory,
      wakeups: deps,
      messages,
      issued: this.issued,
      ends: this.ends,
      rejections: this.rejections,
      others,
    });
  }

  /** A module logs in at this member; committed by default. */
  sleep(
    options: { deviceId?: DeviceId; wakeMode?: WakeMode; isCommitted?: boolean } = {},
  ): Session<FakeConnection> {
    const { deviceId = testDevice, wakeMode = 'custom', isCommitted = true } = options;
    const connection = new FakeConnection();
    const sessionId = this.#scene.nextSession();
    const actor = this.directory.claim(deviceId);
    const event = { kind: 'login', sessionId, ...this.#now(actor.heartbeatAt('sleep')) } as const;
    actor.post({ to: 'sleep', event, connection, wakeMode, secretMark: 0 });
    if (isCommitted) this.commit();
    return { connection, session: sessionId, epoch: actor.epoch('sleep') };
  }

  connectController(
    options: { deviceId?: DeviceId; isCommitted?: boolean } = {},
  ): Session<FakeSignalConnection> {
    const { deviceId = testDevice, isCommitted = true } = options;
    const connection = new FakeSignalConnection();
    const sessionId = this.#scene.nextSession();
    const actor = this.directory.claim(deviceId);
    const event = { kind: 'login', sessionId, ...this.#now(actor.heartbeatAt('signal')) } as const;
    actor.post({ to: 'signal', event, connection, media: null, secretMark: 0 });
    if (isCommitted) this.commit();
    return { connection, session: sessionId, epoch: actor.epoch('signal') };
  }

  end(
    kind: ConnectionKind,
    session: SessionId,
    options: { deviceId?: DeviceId; isCommitted?: boolean } = {},
  ): void {
    const { deviceId = testDevice, isCommitted = true } = options;
    const actor = this.directory.find(deviceId);
    const about = { kind: 'ended', session, reason: 'reset' } as const;
    if (kind === 'sleep')
      actor?.post({ to: kind, event: { ...about, ...this.#now(actor.heartbeatAt('sleep')) } });
    else actor?.post({ to: kind, event: { ...about, ...this.#now(actor.heartbeatAt('signal')) } });
    if (isCommitted) this.commit();
  }

  commit(): void {
    this.sleepRecords.commit();
    this.signalRecords.commit();
  }

  /** Business code of the answer; 0: accepted. */
  async wake(overrides: Partial<WakeupRequest> = {}): Promise<number> {
    const answer = await submitWakeup(this.deps, this.#scene.wakeup(overrides));
    return answer.ok ? 0 : answer.error.code;
  }

  async send(overrides: Partial<MessageRequest> = {}): Promise<number> {
    const answer = await sendMessage(this.messages, this.#scene.message(overrides));
    return answer.ok ? 0 : answer.error.code;
  }

  /** The connectivity record, or the business code. */
  async query(deviceId = testDevice): Promise<ConnectivityRecord | number> {
    const answer = await queryConnectivity(this.deps, testApp, deviceId);
    return answer.ok ? answer.value : answer.error.code;
  }

  async outcome(requestId: string, waitMs = 0, deviceId: DeviceId | null = null): Promise<string | number> {
    const call = {
      appId: testApp,
      requestId: requestId as RequestId,
      deviceId,
      waitMs,
      onGone: () => undefined,
    };
    const answer = await queryWakeupOutcome(this.deps, call);
    return answer.ok ? answer.value.status : answer.error.code;
  }

  #now(heartbeatAt: number): { readonly atMs: number; readonly heartbeatAt: number } {
    return { atMs: this.#scene.clock.wallMs(), heartbeatAt };
  }
}

/** Resolves when all pending promises at both ends of the network have settled. */
export async function untilIdle(): Promise<void> {
  for (let i = 0; i < 60; i++) await Promise.resolve();
}

/** `still waiting`, or the answer. */
export async function now<Answer>(answer: Promise<Answer>): Promise<Answer | 'still waiting'> {
  await untilIdle();
  return Promise.race([answer, Promise.resolve('still waiting' as const)]);
}
