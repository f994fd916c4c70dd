/**
 * The media listener: takes connections, has those who may be let in, and at the end goes away. It knows how many
 * there are; what each does is its own, and the end of a call, or of all, comes from the desk. Source:
 * calls-and-media.md, Legs; running.md, Stopping.
 */
import type { Cancel, Clock } from '../base/clock.ts';
import { ListeningApps } from '../base/listening-apps.ts';
import { boundSessions, readOpenFilesLimit } from '../base/open-files-limit.ts';
import { RecentCounts } from '../base/recent-counts.ts';
import { descriptorsReserved, handshakeSocketsReserved } from '../domain/limits.ts';
import type { CallDesk } from '../ports/call-desk.ts';
import type { Log } from '../ports/log.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { Doorway } from './doorway.ts';
import type { LegHall } from './leg-hall.ts';
import { furnishMediaApp, type MediaAppHouse } from './media-app.ts';
import type { MediaLegsSettings } from './settings.ts';

const tickMs = 500;
/** A WebSocket that was told to go, and stays, is cut by the library after 4 to 8 s, and does not tell. */
const lingerMsMax = 8000;
const lingerTicks = lingerMsMax / tickMs + 1;
const silenceReportMs = 1000;

export interface MediaListenerHouse {
  readonly clock: Clock;
  readonly desk: CallDesk;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** Descriptors that other listeners hold. */
  otherSockets(): number;
}

export class MediaListener {
  readonly #settings: MediaLegsSettings;
  readonly #house: MediaListenerHouse;
  readonly #apps: ListeningApps;
  readonly #hall: LegHall = { guests: new Set(), dismissed: () => this.#dismissed.note('') };
  readonly #dismissed = new RecentCounts(lingerTicks, lingerTicks);
  /** Descriptors that legs, those who want to be ones, and the other listeners may hold together. */
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  #connections = 0;
  #isOpen = true;
  #stopTurning: Cancel | null = null;
  #silenceReportedMs = -Infinity;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(settings: MediaLegsSettings, house: MediaListenerHouse) {
    this.#settings = settings;
    this.#house = house;
    const doorway = new Doorway({
      ...house,
      hall: this.#hall,
      checksMax: settings.handshakesMax,
      hasRoom: () => this.#hasRoom(),
      reportSilence: () => this.#reportSilence(),
    });
    const appHouse: MediaAppHouse = {
      doorway,
      connected: () => this.#mayStay(),
      disconnected: () => (this.#connections -= 1),
    };
    this.#apps = new ListeningApps(settings, (app) => furnishMediaApp(app, appHouse));
  }

  /** Resolves when connections are taken; rejects when the address cannot be had, or is another server's. */
  async listen(): Promise<void> {
    await this.#apps.listen();
    this.#stopTurning = this.#house.clock.every(tickMs, () => this.#dismissed.turn());
  }

  /** The real one, also when port 0 was asked for; 0 while it does not listen. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: this.#settings.host, port: this.#apps.port };
  }

  /** Legs, idle bridges and viewers. */
  get legCount(): number {
    return this.#hall.guests.size;
  }

  /** Descriptors held, those of peers included that have not asked for anything yet or were told to go. */
  get socketCount(): number {
    return this.#connections + this.#dismissed.total;
  }

  /** Takes the certificate from its files anew, for connections to come. Throws, and changes nothing, when they are not in order. */
  reloadTls(): void {
    this.#apps.reloadTls();
  }

  /** Takes no more connections, and lets nobody in who has one; the desk closes the legs. */
  drain(): void {
    this.#isOpen = false;
    this.#apps.stopListening();
  }

  /** Closes every socket that is left, telling nobody, and frees the port. */
  close(): void {
    this.drain();
    for (const guest of this.#hall.guests) guest.drop();
    this.#apps.close();
    this.#stopTurning?.();
    this.#stopTurning = null;
  }

  /** False: a socket that just came is one too many. */
  #mayStay(): boolean {
    this.#connections += 1;
    const arrivals = this.#connections - this.legCount;
    return arrivals <= this.#settings.handshakesMax && !this.#isCrowded(handshakeSocketsReserved);
  }

  #hasRoom(): boolean {
    return this.#isOpen && this.legCount < this.#settings.legsMax && !this.#isCrowded(0);
  }

  /** More descriptors are held than may be, `spare` allowed beside them. */
  #isCrowded(spare: number): boolean {
    return this.socketCount + this.#house.otherSockets() > this.#socketsMax + spare;
  }

  #reportSilence(): void {
    const nowMs = this.#house.clock.monotonicMs();
    if (nowMs - this.#silenceReportedMs < silenceReportMs) return;
    this.#silenceReportedMs = nowMs;
    this.#house.log.error({}, 'legs of calls cannot be judged in time');
  }
}
