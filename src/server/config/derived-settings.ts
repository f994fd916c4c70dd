/**
 * Values that follow from the settings: numbers in the form that the layers below take, values made of two of them, and the
 * part of each that one edge of several has.
 */
import type { AuthenticatorSettings } from '../../gateways/api/authenticator.ts';
import type { ParseRules } from '../../gateways/api/route.ts';
import { availableParallelism } from 'node:os';
import type { Rate } from '../../lib/token-bucket.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import type { WakeupLimitSettings } from '../../core/devices/request-limits.ts';
import type { ListenerName, Settings } from './settings-schema.ts';
import {
  parseOrigin,
  parsePortRange,
  parseOrigins,
  type ReachableOrigin,
} from '../../model/settings-values.ts';
import {
  formatListenAddress,
  reachableHere,
  type ListenAddress,
} from '../../lib/connections/listen-address.ts';
import { tlsFiles } from '../../lib/connections/tls-files.ts';

/** Of a child's, or of one that is served alone. */
export function mediaProcessSettings(settings: Pick<Settings, 'media'>): MediaProcessSettings {
  const { media } = settings;
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
    workers: mediaThreads(settings),
    loadMax: media.load_max,
    quality: media.quality,
    sourceMax: { width: media.frame_width_max, height: media.frame_height_max },
    maxFps: media.max_fps,
    webrtc: media.webrtc ? webrtcSettings(media) : null,
    advertise: media.advertise,
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

/** Of one of the children of this machine, which share its processors and listen beside each other. */
export function mediaChildSettings(settings: Settings, process: number): MediaProcessSettings {
  const whole = mediaProcessSettings(settings);
  const { legs, webrtc } = whole;
  return {
    ...whole,
    legs: { ...legs, port: legs.port === 0 ? 0 : legs.port + process },
    webrtc: webrtc === null ? null : { ...webrtc, ports: portsOfChild(webrtc.ports, process) },
  };
}

type UdpPorts = NonNullable<MediaProcessSettings['webrtc']>['ports'];

/** Of a range all take the ports that are free; of one port each has its own. */
function portsOfChild(ports: UdpPorts, process: number): UdpPorts {
  if (ports === null || ports.first !== ports.last) return ports;
  return { first: ports.first + process, last: ports.last + process };
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
export function callRates({ limits }: Settings) {
  const rate = (perSecond: number | null): Rate | null =>
    perSecond === null ? null : applicationRate(perSecond, null);
  return {
    queries: rate(limits.queries_per_second),
    issuances: rate(limits.issuances_per_second),
    messages: rate(limits.messages_per_second),
    eventReads: rate(limits.event_reads_per_second),
    provisionings: rate(limits.provisionings_per_second),
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

/** Threads of a media process on this machine that decode, scale and encode: children share the processors. */
export function mediaThreads(
  { media }: Pick<Settings, 'media'>,
  processors: number = availableParallelism(),
): number {
  const sharers = media.process === 'child' ? media.processes : 1;
  return media.workers > 0 ? media.workers : Math.max(1, Math.floor((processors - 1) / sharers));
}

/** Threads of the verification pool: one processor is the main loop's. */
export function verifierThreads({ auth }: Settings, processors: number = availableParallelism()): number {
  return auth.threads > 0 ? auth.threads : Math.min(threadsMax, Math.max(1, processors - 1));
}

/** What is known of where a media process is. */
interface KnownReach {
  /** Its number. */
  readonly process: number;
  /** With its real port. */
  readonly address: ListenAddress;
  /** The origins that its own settings say, comma separated; null: none. */
  readonly advertise: string | null;
}

/** For people: an origin such as `https://media.example:8083`, without a slash at its end. */
export function mediaOrigin(settings: Pick<Settings, 'media'>, reach: KnownReach): string {
  return urlOf('http', mediaReach(settings, reach));
}

/**
 * For devices: `ws://host:port` or `wss://host:port` of a media listener of this server. Null: it has none, or nobody has
 * said where it is. `told`: where the media process last said that it listens, null when it has not yet.
 */
export function mediaUrl(settings: Pick<Settings, 'media'>, told: KnownReach | null): string | null {
  const { process, listen, advertise } = settings.media;
  if (process === 'none') return null;
  const listens = { process: 0, address: listen, advertise: null };
  const known = told ?? (process === 'child' && listen.port > 0 ? listens : null);
  if (known === null && advertise === null) return null;
  const reach = mediaReach(settings, known ?? listens);
  // Where it listens a media process elsewhere has said, and it may be no host.
  const isOrigin = (advertise ?? known?.advertise ?? null) !== null || parseOrigin(reach.authority) !== null;
  return isOrigin ? urlOf('ws', reach) : null;
}

/** The settings of the server go first: of children they have one origin for each. */
function mediaReach({ media }: Pick<Settings, 'media'>, reach: KnownReach): ReachableOrigin {
  const { advertise, process, tls_cert_file: certFile } = media;
  const set = parseOrigins(advertise ?? reach.advertise ?? '') ?? [];
  const { isSecure, authority } = set[process === 'child' ? reach.process : 0] ?? {
    isSecure: null,
    authority: formatListenAddress(reachableHere(reach.address)),
  };
  return { authority, isSecure: isSecure ?? certFile !== null };
}

function urlOf(scheme: 'http' | 'ws', { isSecure, authority }: ReachableOrigin): string {
  return `${scheme}${isSecure === true ? 's' : ''}://${authority}`;
}

/** With real ports. */
export type RealListeners = Readonly<Record<ListenerName, ListenAddress>>;

/** With the ports of these addresses where the settings ask for a free one. */
export function withListeners(settings: Settings, listeners: RealListeners): Settings {
  const at = (name: ListenerName): ListenAddress => {
    const { host, port } = settings[name].listen;
    return { host, port: port === 0 ? listeners[name].port : port };
  };
  const { api, sleep, signal, media, ops } = settings;
  return {
    ...settings,
    api: { ...api, listen: at('api') },
    sleep: { ...sleep, listen: at('sleep') },
    signal: { ...signal, listen: at('signal') },
    media: { ...media, listen: at('media') },
    ops: { ...ops, listen: at('ops') },
  };
}

/** One of the edges of this machine: rates and handshakes are divided among them; the core counts the sessions of all. */
export function edgeSleepSettings({ sleep }: Settings): Settings['sleep'] {
  const share = (whole: number): number => Math.ceil(whole / sleep.edges);
  return {
    ...sleep,
    accepts_per_second: share(sleep.accepts_per_second),
    handshakes_max: share(sleep.handshakes_max),
    admission_queue_max: share(sleep.admission_queue_max),
  };
}

/** Settings by which parameters of the API are read. */
export function parseRules({ calls, registry }: Settings): ParseRules {
  return {
    mixedFormats: calls.mixed_formats,
    secretRules: { allowShortSecrets: registry.allow_short_secrets },
  };
}

export function verificationSettings({ auth }: Settings): AuthenticatorSettings {
  return { windowMs: auth.clock_window_s * 1000, explainMismatch: auth.explain_mismatch };
}

/** One front has all connections on a system that does not spread those of a port over its listeners. */
export function frontCount({ api }: Settings, platform = process.platform): number {
  return platform === 'linux' ? api.fronts : Math.min(api.fronts, 1);
}
