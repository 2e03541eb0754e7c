import 'reflect-metadata';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

class Orders {
  place(order) {
    return order;
  }
}
Controller('orders')(Orders);
Body()(Orders.prototype, 'place', 0);
Post()(Orders.prototype, 'place', Object.getOwnPropertyDescriptor(Orders.prototype, 'place'));

class Shop {}
Module({ controllers: [Orders] })(Shop);

/** The API beside the controllers and body parser of a NestJS application. */
export async function serve(listener) {
  const app = await NestFactory.create(Shop, { logger: false });
  app.use('/ops/outbox', listener);
  await app.listen(0, '127.0.0.1');
  return app.getHttpServer().address().port;
}
