/**
 * Values that follow from the settings: numbers in the form that the layers below take, values made of two of them, and the
 * part of each that one process of several has.
 */
import { availableParallelism } from 'node:os';
import type { Rate } from '../../lib/token-bucket.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import type { WakeupLimitSettings } from '../../core/devices/request-limits.ts';
import type { ProcessTask } from '../supervisor/process-messages.ts';
import type { Settings } from './settings-schema.ts';
import {
  formatListenAddress,
  parseOrigin,
  parsePortRange,
  reachableHere,
  tlsFiles,
  type ListenAddress,
  type ReachableOrigin,
} from '../../model/settings-values.ts';

/** Of a child's, or of one that is served alone. */
export function mediaProcessSettings({ media }: Pick<Settings, 'media'>): MediaProcessSettings {
  return {
    legs: {
      host: media.listen.host,
      port: media.listen.port,
      legsMax: media.legs_max,
      handshakesMax: media.handshakes_max,
      handshakesPerAddressMax: media.handshakes_per_address_max,
      tls: tlsFiles(media),
      rtc: { corsOrigins: [...media.cors_origins], iceServers: media.ice_servers.map(iceServerLink) },
    },
    workers: media.workers,
    loadMax: media.load_max,
    quality: media.quality,
    sourceMax: { width: media.frame_width_max, height: media.frame_height_max },
    maxFps: media.max_fps,
    webrtc: media.webrtc ? webrtcSettings(media) : null,
  };
}

/** A range of ports goes before the one port. */
function webrtcSettings(media: Settings['media']): MediaProcessSettings['webrtc'] {
  const { rtc_port: port, rtc_port_range: range } = media;
  return {
    ports: range === null ? (port === null ? null : { first: port, last: port }) : parsePortRange(range),
    advertise: media.rtc_advertise,
    peersMax: media.rtc_peers_max,
  };
}

/** As the Link of an answer has it. Source: RFC 9725, 4.6. */
function iceServerLink(server: string): string {
  const [url = '', username, credential] = server.split(' ');
  const link = `<${url}>; rel="ice-server"`;
  if (username === undefined) return link;
  return `${link}; username="${username}"; credential="${credential}"; credential-type="password"`;
}

/** Seconds of its rate that a device or an application may use at once, where no burst is set. */
const deviceBurstSeconds = 3;
const applicationBurstSeconds = 2;

export function wakeupLimitSettings({ wakeup }: Settings): WakeupLimitSettings {
  const { device_per_second: device, application_per_second: application } = wakeup;
  return {
    device: { perSecond: device, burst: wakeup.device_burst ?? burstOf(device, deviceBurstSeconds) },
    application: applicationRate(application, wakeup.application_burst),
    inFlightMax: wakeup.in_flight_max,
  };
}

/** Of the issuance of calls. */
export function issuingSettings({
  calls,
}: Settings): Pick<CallCredentialsDeps, 'requireBridge' | 'addressInPeerId'> {
  return { requireBridge: calls.require_bridge, addressInPeerId: calls.address_in_peer_id };
}

/** The rates at which one application may call, by kind of request; null: unlimited. */
export interface CallRates {
  readonly queries: Rate | null;
  readonly issuances: Rate | null;
  readonly messages: Rate | null;
  readonly eventReads: Rate | null;
  readonly provisionings: Rate | null;
}

export function callRates({ limits }: Settings): CallRates {
  const rate = (perSecond: number | null, burst: number | null): Rate | null =>
    perSecond === null ? null : applicationRate(perSecond, burst);
  return {
    queries: rate(limits.queries_per_second, limits.queries_burst),
    issuances: rate(limits.issuances_per_second, limits.issuances_burst),
    messages: rate(limits.messages_per_second, limits.messages_burst),
    eventReads: rate(limits.event_reads_per_second, limits.event_reads_burst),
    provisionings: rate(limits.provisionings_per_second, limits.provisionings_burst),
  };
}

function applicationRate(perSecond: number, burst: number | null): Rate {
  return { perSecond, burst: burst ?? burstOf(perSecond, applicationBurstSeconds) };
}

/** Never below one: a bucket that holds less than a token never gives one. */
function burstOf(perSecond: number, seconds: number): number {
  return Math.max(1, perSecond * seconds);
}

const threadsMax = 4;

/** Threads of the verification pool: one processor is the main loop's. */
export function verifierThreads({ auth }: Settings, processors: number = availableParallelism()): number {
  return auth.threads > 0 ? auth.threads : Math.min(threadsMax, Math.max(1, processors - 1));
}

/** For people: an origin such as `https://media.example:8083`, without a slash at its end. `address`: with its real port. */
export function mediaOrigin(settings: Pick<Settings, 'media'>, address: ListenAddress): string {
  return urlOf('http', mediaReach(settings, address));
}

/**
 * For devices: `ws://host:port` or `wss://host:port` of the media listener that carries the calls of this server. Null: it
 * has none, or nobody has said where it is. `address`: where it last said that it listens, null when it has not yet.
 */
export function mediaUrl(settings: Pick<Settings, 'media'>, address: ListenAddress | null): string | null {
  const { process, listen, advertise } = settings.media;
  if (process === 'none') return null;
  const known = address ?? (process === 'child' && listen.port > 0 ? listen : null);
  if (known === null && advertise === null) return null;
  const reach = mediaReach(settings, known ?? listen);
  // A media process elsewhere has said it.
  return parseOrigin(reach.authority) === null && advertise === null ? null : urlOf('ws', reach);
}

function mediaReach({ media }: Pick<Settings, 'media'>, address: ListenAddress): ReachableOrigin {
  const advertised = media.advertise === null ? null : parseOrigin(media.advertise);
  const { isSecure, authority } = advertised ?? {
    isSecure: null,
    authority: formatListenAddress(reachableHere(address)),
  };
  return { authority, isSecure: isSecure ?? media.tls_cert_file !== null };
}

function urlOf(scheme: 'http' | 'ws', { isSecure, authority }: ReachableOrigin): string {
  return `${scheme}${isSecure === true ? 's' : ''}://${authority}`;
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
      provisionings_per_second: rateShare(limits.provisionings_per_second),
      provisionings_burst: burstShare(limits.provisionings_burst),
    },
    auth: {
      ...auth,
      threads: auth.threads > 0 ? auth.threads : Math.max(1, Math.floor(verifierThreads(settings) / workers)),
    },
  };
}
