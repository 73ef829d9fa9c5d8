/**
 * The part of a NATS connection that is used here.
 *
 * It is written out, and not imported, so that a connection of any transport and of any copy of the
 * client library fits, and so that this package documents its own surface. A test proves that the
 * client library's `NatsConnection` fits.
 *
 * @module
 */

/** Headers of a received message. */
export interface MessageHeaders {
  /** Status code of a message of the server's own; 0 otherwise. */
  readonly code: number;
  /** What the status says. */
  readonly description: string;
  /** The first value of a header, or an empty text. */
  get(name: string): string;
  /** Tells whether a header is there. */
  has(name: string): boolean;
  /** All values of a header. */
  values(name: string): string[];
}

/** A received message. */
export interface Message {
  /** Where it was published to. */
  readonly subject: string;
  /** Where an answer goes. */
  readonly reply?: string | undefined;
  /** The body. */
  readonly data: Uint8Array;
  /** The headers, if it has any. */
  readonly headers?: MessageHeaders | undefined;
}

/** A subscription that can be ended. */
export interface Subscription {
  /** Ends it at once. */
  unsubscribe(max?: number): void;
  /** Ends it at the server, and here when everything sent before has arrived. */
  drain(): Promise<void>;
}

/** What a message is sent with. */
export interface PublishOptions {
  /** Where answers go. */
  reply?: string;
  /** Headers: whatever has the client library's `encode(): Uint8Array`, which its types do not show. */
  headers?: object;
}

/** Something that happened to the connection. */
export interface ConnectionStatus {
  /** What: `disconnect`, `reconnect` and others. */
  readonly type: string;
}

/** How a subscription is served. */
export interface SubscribeOptions {
  /** Members of one group share the messages. */
  queue?: string;
  /** Called for each message, or with the error that ended the subscription. */
  callback: (error: Error | null, message: Message) => void;
}

/** How long an answer may take. */
export interface RequestOptions {
  /** Milliseconds until the request fails. */
  timeout: number;
}

/** How several answers are gathered. */
export interface RequestManyOptions {
  /** When to stop: after a pause between answers. */
  strategy: "stall";
  /** The longest wait in all. */
  maxWait: number;
  /** The longest pause between two answers. */
  stall: number;
}

/** What a server says of itself. */
export interface ServerInfo {
  /** Its version. */
  readonly version: string;
  /** The largest message it takes. */
  readonly max_payload: number;
  /** The cluster it belongs to; absent where it stands alone. */
  readonly cluster?: string;
  /** Whether it has JetStream; absent where it has none. */
  readonly jetstream?: boolean;
}

/** A connection to a NATS server, made by any transport of the client library. */
export interface Connection extends AsyncDisposable {
  /** What the connected server says of itself; absent before the first connect. */
  readonly info?: ServerInfo | undefined;
  /** Sends a message; returns before it is on the wire. */
  publish(subject: string, payload?: Uint8Array | string, options?: PublishOptions): void;
  /** Receives messages. */
  subscribe(subject: string, options: SubscribeOptions): Subscription;
  /** Sends a message and waits for one answer. */
  request(
    subject: string,
    payload: Uint8Array | string,
    options: RequestOptions,
  ): Promise<Message>;
  /** Sends a message and gathers answers. */
  requestMany(
    subject: string,
    payload: Uint8Array | string,
    options: RequestManyOptions,
  ): Promise<AsyncIterable<Message>>;
  /** Resolves when the server has seen everything sent so far. */
  flush(): Promise<void>;
  /** Tells what happens to the connection, as long as it lives. */
  status(): AsyncIterable<ConnectionStatus>;
  /** Resolves when the connection is gone for good. */
  closed(): Promise<void | Error>;
  /** Tells whether it is gone for good. */
  isClosed(): boolean;
  /** Ends it at once. */
  close(): Promise<void>;
  /** Ends it in good order. */
  drain(): Promise<void>;
}
