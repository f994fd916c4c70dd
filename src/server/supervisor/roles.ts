/**
 * A server process's part of the server: everything, alone; or, of several processes, what there is one of on a machine
 * (the coordinator), or the listeners for devices and callers (a worker). Source: cluster.md, Several processes on one machine.
 */
import { verifierThreads } from '../config/gateway-settings.ts';
import type { ProcessRole, ProcessTask } from './process-messages.ts';
import type { Settings } from '../config/settings-schema.ts';

export type ServerRole = 'alone' | ProcessRole;

/** Devices and callers reach it. */
export function hasGateways(role: ServerRole): boolean {
  return role !== 'coordinator';
}

/** It has what there is one of. */
export function hasControlPlane(role: ServerRole): boolean {
  return role !== 'worker';
}

/**
 * The settings of one process: what is set for the machine is divided among those that are reached in turn, what is
 * set for a device or an address is the same for all, and the ports are those that all have.
 */
export function settingsOfProcess(settings: Settings, { listeners, workers }: ProcessTask): Settings {
  const share = (whole: number): number => Math.ceil(whole / workers);
  const { api, sleep, signal, media, ops, wakeup, limits, auth } = settings;
  const rateShare = (whole: number | null): number | null => (whole === null ? null : whole / workers);
  const burstShare = (whole: number | null): number | null => (whole === null ? null : share(whole));
  return {
    ...settings,
    api: { ...api, listen: listeners.api, connections_max: share(api.connections_max) },
    sleep: {
      ...sleep,
      listen: listeners.sleep,
      max_sessions: share(sleep.max_sessions),
      accepts_per_second: share(sleep.accepts_per_second),
      handshakes_max: share(sleep.handshakes_max),
      admission_queue_max: share(sleep.admission_queue_max),
    },
    signal: {
      ...signal,
      listen: listeners.signal,
      max_sessions: share(signal.max_sessions),
      handshakes_max: share(signal.handshakes_max),
    },
    media: { ...media, listen: listeners.media },
    ops: { ...ops, listen: listeners.ops },
    wakeup: {
      ...wakeup,
      application_per_second: wakeup.application_per_second / workers,
      application_burst: burstShare(wakeup.application_burst),
      in_flight_max: share(wakeup.in_flight_max),
    },
    limits: {
      queries_per_second: rateShare(limits.queries_per_second),
      queries_burst: burstShare(limits.queries_burst),
      issuances_per_second: rateShare(limits.issuances_per_second),
      issuances_burst: burstShare(limits.issuances_burst),
      messages_per_second: rateShare(limits.messages_per_second),
      messages_burst: burstShare(limits.messages_burst),
      event_reads_per_second: rateShare(limits.event_reads_per_second),
      event_reads_burst: burstShare(limits.event_reads_burst),
    },
    auth: {
      ...auth,
      threads: auth.threads > 0 ? auth.threads : Math.max(1, Math.floor(verifierThreads(settings) / workers)),
    },
  };
}
