import { Controller, Get, Inject, ServiceUnavailableException } from '@nestjs/common';
import { OutboxConsumer, type OutboxIndication } from 'temporal-outbox/nestjs';

/** Probes. With `@nestjs/terminus` it is `health.check([() => consumer.ready()])`. */
@Controller()
export class HealthController {
  readonly #consumer: OutboxConsumer;

  constructor(@Inject(OutboxConsumer) consumer: OutboxConsumer) {
    this.#consumer = consumer;
  }

  @Get('ready')
  ready(): Record<string, OutboxIndication> {
    return answer(this.#consumer.ready());
  }

  @Get('live')
  live(): Record<string, OutboxIndication> {
    return answer(this.#consumer.live());
  }
}

function answer(indications: Record<string, OutboxIndication>): Record<string, OutboxIndication> {
  if (Object.values(indications).some(({ status }) => status === 'down'))
    throw new ServiceUnavailableException(indications);
  return indications;
}
