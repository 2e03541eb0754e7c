-- The tables of the demo shop, as in shop.prisma. Can be run again.
create table if not exists public.products (
  id    text primary key,
  name  text not null,
  stock integer not null check (stock >= 0)
);

do $$
begin
  create type public.order_status as enum ('UNPAID', 'PAID', 'CANCELED');
exception when duplicate_object then null;
end
$$;

create table if not exists public.orders (
  id         uuid primary key,
  product_id text not null references public.products on update cascade on delete restrict,
  quantity   integer not null check (quantity > 0),
  status     public.order_status not null default 'UNPAID',
  created_at timestamptz(6) not null default current_timestamp,
  pay_by     timestamptz(6) not null
);
create index if not exists orders_product_id_idx on public.orders (product_id);

create table if not exists public.effects (
  id         bigint generated always as identity primary key,
  message_id uuid not null,
  order_id   uuid not null,
  what       text not null,
  at         timestamptz(6) not null default current_timestamp
);
