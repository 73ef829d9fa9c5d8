/** Messages that have come and wait to be taken. */

import type { MessageHeaders } from "./connection.ts";

/** A message of a stream, at its place. */
export interface StreamMessage {
  /** Its place. */
  readonly sequence: number;
  /** When the stream took it: nanoseconds since 1970, as a decimal text. */
  readonly storedNs: string;
  /** How many more there were after it when it was sent. */
  readonly pending: number;
  /** Its subject. */
  readonly subject: string;
  /** Its body. */
  readonly data: Uint8Array;
  /** Its headers, if it has any. */
  readonly headers: MessageHeaders | undefined;
}

/** A reading is over; what was not taken is to be read anew. */
export class ReadingEnded extends Error {
  /** Makes it with the reason. */
  constructor(reason: string) {
    super(`Cannot read on: ${reason}`);
    this.name = "ReadingEnded";
  }
}

/** The buffer of one reading. */
export interface MessageBuffer<Taken> {
  /** How many wait. */
  readonly size: number;
  /** How large the bodies of their messages were together. */
  readonly bytes: number;
  /** Whether it is over. */
  readonly ended: boolean;
  /** Called when messages were taken: there is room again. */
  onTaken: () => void;
  /** Adds what a message was read as; `more` tells whether further ones are under way. */
  add(taken: Taken, bytes: number, more: boolean): void;
  /** Tells that nothing is under way: what waits is all there is for now. */
  rest(): void;
  /** Ends it: what waits can still be taken, then `take` throws. */
  end(reason: ReadingEnded): void;
  /** Waits for messages and takes them, so many at most. */
  take(most: number): Promise<readonly Taken[]>;
}

/** Makes an empty buffer. */
export function createBuffer<Taken>(pending: number): MessageBuffer<Taken> {
  let waiting: Taken[] = [];
  let sizes: number[] = [];
  let bytes = 0;
  let moreToCome = pending > 0;
  let over: ReadingEnded | undefined;
  let wake = () => {};
  /** Many small batches cost more than they bring: while more is under way, it is waited for. */
  const ready = (most: number) => waiting.length > 0 && (waiting.length >= most || !moreToCome);
  const buffer: MessageBuffer<Taken> = {
    get size() {
      return waiting.length;
    },
    get bytes() {
      return bytes;
    },
    get ended() {
      return over !== undefined;
    },
    onTaken: () => {},
    add(taken, size, more) {
      waiting.push(taken);
      sizes.push(size);
      bytes += size;
      moreToCome = more;
      wake();
    },
    rest() {
      moreToCome = false;
      wake();
    },
    end(reason) {
      over ??= reason;
      wake();
    },
    async take(most) {
      while (over === undefined && !ready(most)) {
        await new Promise<void>((resolve) => wake = resolve);
      }
      if (waiting.length === 0 && over !== undefined) throw over;
      const taken = waiting.slice(0, most);
      for (const size of sizes.slice(0, most)) bytes -= size;
      waiting = waiting.slice(most);
      sizes = sizes.slice(most);
      buffer.onTaken();
      return taken;
    },
  };
  return buffer;
}
