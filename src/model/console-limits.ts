/** Limits of the ops listener and of the console, and what full means. Source: docs/ops-api.md, docs/console.md. */

/** A session of the console ends so long after its login, whatever is done with it. */
export const consoleSessionMsMax = 12 * 60 * 60 * 1000;
/** The figures of the console: how often they are noted, and how many notes are kept, in memory: those of an hour. */
export const figuresEveryMs = 5000;
export const figuresKept = 720;
/** The alarms: how often their figures are noted and their rules judged, as often as Prometheus would. */
export const alarmsEveryMs = 15_000;
/** Notes of them that are kept, in memory: no rule looks back further than an hour. */
export const alarmFiguresKept = 241;
/** The machine, the data directory and files with secrets are checked for alarms at the start, and then so often. */
export const checksEveryMs = 60 * 60 * 1000;
/** Alarms that are over; the oldest is forgotten first. */
export const resolvedAlarmsMax = 50;

/** The index of devices, about 60 bytes each and their labels; the devices beyond it are read by each search. */
export const deviceIndexBytesMax = 512 * 1024 * 1024;
/** So long after one block of the index another one is read, as long as no search needs it. */
export const deviceIndexRestMs = 5;
/** Devices in one answer. */
export const listedDevicesMax = 200;
/** A search of devices takes so much of one turn of the event loop. */
export const deviceSearchTurnMs = 2;

/** Bytes of the head of a request to the ops listener: method, target and headers. Beyond it 431. */
export const opsHeadBytesMax = 16 * 1024;
/** A request to the ops listener that is not whole after this is given up with its connection; an upload excepted. */
export const opsRequestMsMax = 10_000;
/** A connection to the ops listener without a request is closed after this. */
export const opsIdleMsMax = 12_000;
/** An upload or an answer at the ops listener that makes no progress for so long is given up with its connection. */
export const opsSilenceMsMax = 30_000;
/** Requests of one connection to the ops listener that wait for their answers; the last of them ends the connection. */
export const opsRequestsWaitingMax = 8;
/** Requests behind it that are ignored; with one more the connection is closed at once. */
export const opsRequestsBeyondMax = 32;
/** A JSON body at the ops listener; beyond it 413. */
export const opsBodyBytesMax = 256 * 1024;
/** The body of an upload, about ten million devices; beyond it 413. */
export const uploadBytesMax = 2 * 1024 * 1024 * 1024;
/** Uploads that are received or used at the same time; the next is answered 503. */
export const uploadsAtOnceMax = 4;
